# solid-queue.sh - Solid Queue's tables: a claim moves a row from the ready executions to the claimed ones. Ours is a
# statement. By hand: the statements of its own claim, in a transaction.

. "$bench/tables/common.sh"
table_title="Solid Queue's tables"
now="now() at time zone 'UTC'"

build() {
	sql -c 'create extension queue_ext' -f "$bench/../test/layouts/solid_queue.sql"
	prepare_sql -v payload="$payload" <<-SQL
		insert into solid_queue_jobs (id, queue_name, class_name, arguments, created_at, updated_at)
		select n, 'bench', 'Bench', :'payload', $now, $now from generate_series(1, $1) n;
		insert into solid_queue_ready_executions (id, job_id, queue_name, created_at)
		select n, n, 'bench', $now from generate_series(1, $1) n;
	SQL
	sql >/dev/null <<-'SQL'
		select queue_attach('bench', 'solid_queue_ready_executions', claim_mode => 'transaction',
			pending => $$queue_name = 'bench'$$, order_by => 'priority, job_id');
	SQL
}

pop_text() {
	say "with ready as materialized (select r from queue_pop_rows(null::solid_queue_ready_executions, 'bench') r)" \
		"insert into solid_queue_claimed_executions (job_id, process_id, created_at)" \
		"select (r).job_id, 1, $now from ready where queue_complete_row('bench', r) returning *;"
}

hand_text() {
	printf '%s\n' 'begin;' \
		"select id, job_id from solid_queue_ready_executions where queue_name = 'bench'
			order by priority, job_id limit 1 for update skip locked \\gset" \
		"insert into solid_queue_claimed_executions (job_id, process_id, created_at)
			values (:job_id, 1, $now) on conflict do nothing returning id;" \
		'select * from solid_queue_claimed_executions where job_id = :job_id and process_id = 1;' \
		'delete from solid_queue_ready_executions where id = :id;' 'commit;'
}

key_text() {
	say 'with ready as (delete from solid_queue_ready_executions where id = :n returning job_id)' \
		'insert into solid_queue_claimed_executions (job_id, process_id, created_at)' \
		"select job_id, 1, $now from ready returning *;"
}

lease() {
	prepare_sql -c "with ready as (delete from solid_queue_ready_executions where id <= $1 returning job_id)
		insert into solid_queue_claimed_executions (job_id, process_id, created_at) select job_id, 2, $now from ready" \
		-c vacuum
}

kill_jobs() {
	prepare_sql -c "delete from solid_queue_ready_executions where id <= $1"
}

lock_text() {
	say "select count(*) from (select from solid_queue_ready_executions where id <= $1 for update) l"
}

any_left() {
	[[ $(sql -c 'select count(*) from (select from solid_queue_ready_executions limit 1) j') == 1 ]]
}
