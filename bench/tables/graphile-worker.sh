# graphile-worker.sh - graphile-worker's table; no job is of a named queue. By hand: its own statement, which also
# looks for jobs of named queues.

. "$bench/tables/common.sh"
table_title="graphile-worker's table"
claimed="attempts = attempts + 1, locked_by = 'bench', locked_at = now()"

build() {
	sql -c 'create extension queue_ext' -f "$bench/../test/layouts/graphile_worker.sql"
	sql -c "insert into _private_tasks (identifier) values ('bench')"
	sql -v payload="$payload" <<-SQL
		insert into _private_jobs (id, task_id, payload, run_at) overriding system value
		select n, 1, :'payload'::json, now() + n * interval '1 microsecond' from generate_series(1, $1) n;
	SQL
	sql >/dev/null <<-'SQL'
		select queue_attach('bench', '_private_jobs',
			pending => 'is_available and job_queue_id is null and task_id = 1 and run_at <= call_time',
			order_by => 'priority, run_at',
			on_claim => 'attempts = attempts + 1, locked_at = call_time, locked_by = worker');
	SQL
}

pop_text() {
	say "select * from queue_pop_rows(null::_private_jobs, 'bench', worker => 'bench');"
}

hand_text() {
	say "with j as (select jobs.job_queue_id, jobs.priority, jobs.run_at, jobs.id from _private_jobs jobs" \
		"where jobs.is_available = true and run_at <= now() and task_id = any ('{1}'::integer[])" \
		"and (jobs.job_queue_id is null or jobs.job_queue_id in (select id from _private_job_queues q" \
		"where q.is_available = true for update skip locked))" \
		"order by priority, run_at limit 1 for update skip locked)," \
		"q as (update _private_job_queues q set locked_by = 'bench', locked_at = now() from j where q.id = j.job_queue_id)" \
		"update _private_jobs jobs set attempts = jobs.attempts + 1, locked_by = 'bench', locked_at = now()" \
		"from j where jobs.id = j.id returning *;"
}

key_text() {
	say "update _private_jobs set $claimed where id = :n returning *;"
}

lease() {
	prepare_sql -c "update _private_jobs set $claimed where id <= $1" -c vacuum
}

kill_jobs() {
	prepare_sql -c "update _private_jobs set $claimed where id <= $1" -c "delete from _private_jobs where id <= $1"
}

lock_text() {
	say "select count(*) from (select from _private_jobs where id <= $1 for update) l"
}

any_left() {
	[[ $(sql -c "select count(*) from (select from _private_jobs where is_available limit 1) j") == 1 ]]
}
