# partitioned.sh - sixteen partitions, and an order over all of them.

. "$bench/tables/common.sh"
table_title='16 hash partitions'

create_table() {
	sql -c "create table job ($(column_list)) partition by hash (id)"
	sql <<-SQL
		select format('create table job_%s partition of job for values with (modulus 16, remainder %s) %s', n, n,
			\$\$$storage\$\$) from generate_series(0, 15) n \gexec
	SQL
	sql -c "create index on job $index where state = 'ready'"
}
