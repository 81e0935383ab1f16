# attached.sh - what the two modes that write nothing at the claim share: a plain
# table, attached. Jobs are sent with INSERT and completed with their row.

. "$bench/sides/managed.sh"
table=job

build() {
	sql >/dev/null <<-SQL
		create extension queue_ext;
		create table job (
			id bigint generated always as identity primary key,
			run_at timestamptz not null default now(),
			priority smallint not null default 0,
			payload jsonb not null
		) with (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02,
			autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
		create index on job (priority, run_at, id);
		select queue_attach('bench', 'job', pending => 'run_at <= call_time',
			order_by => 'priority, run_at, id', claim_mode => '$claim_mode');
	SQL
	sql -v payload="$payload" <<-SQL
		insert into job (payload) select :'payload'::jsonb from generate_series(1, $1);
	SQL
}

any_left() {
	[[ $(sql -c "select count(*) from queue_pop_rows(null::job, 'bench')") == 1 ]]
}

pop_one() {
	say "select j::text as receipt from queue_pop_rows(null::job, 'bench') j \\gset"
}

pop_batch() {
	say "select count(*) as n, array_agg(j)::text as receipts from queue_pop_rows(null::job, 'bench', $1) j \\gset"
}

send() {
	if (($1 == 1)); then
		say 'insert into job (payload) values (:payload::jsonb);'
	else
		say 'insert into job (payload) select unnest(:payloads::jsonb[]);'
	fi
}

complete_one="select queue_complete_row('bench', :receipt::job);"
complete_batch="select count(queue_complete_row('bench', j)) from unnest(:receipts::job[]) j;"

# The claims of a session with nothing to show for them are in no table: leased is
# locked.
leased='run_at = run_at'
