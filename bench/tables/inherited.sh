# inherited.sh - a table with a child; each has every other job, of one time. No key spans both.

. "$bench/tables/common.sh"
table_title='a parent with a child that inherits'

create_table() {
	sql -c "create table job ($(column_list)) $storage" \
		-c "create table job_child (primary key (id)) inherits (job) $storage" \
		-c "create index on job $index where state = 'ready'" \
		-c "create index on job_child $index where state = 'ready'"
}

fill() {
	sql -v payload="$payload" <<-SQL
		begin;
		insert into job (id, payload) select n, :'payload'::jsonb from generate_series(1, $1, 2) n;
		insert into job_child (id, payload) select n, :'payload'::jsonb from generate_series(2, $1, 2) n;
		commit;
	SQL
}
