# common.sh - a table as an application has it: a job is ready by its state, and a partial index has the ready
# ones in the order of the claim. Each kind of table changes something of that, or defines all of it anew:
#
#     table_title         what the figures call it
#     build JOBS          makes the table, with the jobs 1 to JOBS in their order, attached as "bench"
#     setup_text          the script's first lines, which every way to claim needs
#     pop_text            a claim with queue_pop_rows()
#     hand_text           a hand-written claim with SKIP LOCKED, or that of the project whose table it is
#     key_text            the same write, of a job whose number is :n
#     number_text         sets :n, so that no two claims have the same; the first $offset are in front
#     lease COUNT         claims the first COUNT, by others
#     kill_jobs COUNT     claims and finishes the first COUNT
#     lock_text COUNT     a query that locks the first COUNT
#     any_left            whether a job is left to be claimed

columns=''       # more columns, each with a comma behind it
table_options='' # of the clients' sessions
index='(priority, run_at, id)'
attach_pending="state = 'ready' and run_at <= call_time"
hand_pending="state = 'ready' and run_at <= now()"
storage='with (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
	autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off)'
claimed="state = 'running', attempt = attempt + 1, leased_until = clock_timestamp() + interval '1 hour', leased_by = 'bench'"

column_list() {
	cat <<-SQL
		id bigint primary key,
		state text not null default 'ready',
		run_at timestamptz not null default now(),
		priority smallint not null default 0,
		attempt integer not null default 0,
		leased_until timestamptz,
		leased_by text,
		$columns
		payload jsonb not null
	SQL
}

create_table() {
	sql -c "create table job ($(column_list)) $storage" -c "create index on job $index where state = 'ready'"
}

change_table() { :; }

fill() {
	sql -v payload="$payload" <<-SQL
		insert into job (id, payload) select n, :'payload'::jsonb from generate_series(1, $1) n;
	SQL
}

attach() {
	sql >/dev/null <<-SQL
		select queue_attach('bench', 'job', pending => \$\$$attach_pending\$\$, order_by => 'priority, run_at, id',
			on_claim => \$\$state = 'running', attempt = attempt + 1, leased_until = call_time + lease, leased_by = 'bench'\$\$,
			lease => '1 hour');
	SQL
}

build() {
	sql -c 'create extension queue_ext'
	create_table
	change_table
	fill "$1"
	attach
}

# A role that is not the owner, for what an owner is spared.
use_role() {
	sql <<-SQL
		do \$\$ begin
			create role bench_worker;
		exception when duplicate_object then null;
		end \$\$;
	SQL
	sql -c 'grant usage on schema public to bench_worker'
}

setup_text() { :; }

number_text() {
	printf '%s\n' '\set k :k + 1' "\\set n $offset + (:k - 1) * $clients + :client_id + 1"
}

pop_text() {
	say "select * from queue_pop_rows(null::job, 'bench');"
}

hand_text() {
	say "update job set $claimed where id = (select id from job where $hand_pending" \
		"order by priority, run_at, id for update skip locked limit 1) returning *;"
}

key_text() {
	say "update job set $claimed where id = :n returning *;"
}

# Without triggers and keys: what they write is in no claim's way.
prepare_sql() {
	PGOPTIONS='-c session_replication_role=replica' sql "$@"
}

lease() {
	prepare_sql -c "update job set $claimed where id <= $1" -c vacuum
}

kill_jobs() {
	prepare_sql -c "update job set $claimed where id <= $1" -c "delete from job where id <= $1"
}

lock_text() {
	say "select count(*) from (select from job where id <= $1 for update) l"
}

any_left() {
	[[ $(sql -c "select count(*) from (select from job where $hand_pending limit 1) j") == 1 ]]
}
