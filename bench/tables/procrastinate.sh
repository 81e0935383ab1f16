# procrastinate.sh - Procrastinate's table, with its triggers and keys, and its rule of locks in the condition; no
# job has a lock. By hand: its own function.

. "$bench/tables/common.sh"
table_title="Procrastinate's table"
claimed="status = 'doing', worker_id = null"

build() {
	sql -c 'create extension queue_ext' -f "$bench/../test/layouts/procrastinate.sql"
	sql -c "insert into procrastinate_workers default values" \
		-c "insert into procrastinate_workers select from generate_series(2, $max_clients)"
	PGOPTIONS='-c session_replication_role=replica' sql -v payload="$payload" <<-SQL
		insert into procrastinate_jobs (id, queue_name, task_name, args)
		select n, 'bench', 'bench', :'payload'::jsonb from generate_series(1, $1) n;
		insert into procrastinate_events (job_id, type) select n, 'deferred' from generate_series(1, $1) n;
	SQL
	sql >/dev/null <<-'SQL'
		select queue_attach('bench', 'procrastinate_jobs',
			pending => $$status = 'todo' and queue_name = 'bench'
				and (scheduled_at is null or scheduled_at <= call_time)
				and (lock is null or not exists (
					select from procrastinate_jobs as other
					where other.lock = procrastinate_jobs.lock and (other.status = 'doing'
						or (other.status = 'todo' and (other.priority > procrastinate_jobs.priority
							or (other.priority = procrastinate_jobs.priority
								and other.id < procrastinate_jobs.id))))))$$,
			order_by => 'priority desc, id', on_claim => $$status = 'doing', worker_id = worker::bigint$$);
	SQL
}

pop_text() {
	say "select * from queue_pop_rows(null::procrastinate_jobs, 'bench', worker => (:client_id::integer + 1)::text);"
}

hand_text() {
	say "select * from fetch_job('{bench}', :client_id::bigint + 1);"
}

key_text() {
	say "update procrastinate_jobs set status = 'doing', worker_id = :client_id::bigint + 1 where id = :n returning *;"
}

lease() {
	prepare_sql -c "update procrastinate_jobs set $claimed where id <= $1" -c vacuum
}

# Finished jobs stay, unless one says otherwise.
kill_jobs() {
	prepare_sql -c "update procrastinate_jobs set $claimed where id <= $1" \
		-c "update procrastinate_jobs set status = 'succeeded', attempts = 1 where id <= $1"
}

lock_text() {
	say "select count(*) from (select from procrastinate_jobs where id <= $1 for update) l"
}

any_left() {
	[[ $(sql -c "select count(*) from (select from procrastinate_jobs where status = 'todo' limit 1) j") == 1 ]]
}
