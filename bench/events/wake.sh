# wake.sh - rows are inserted into an attached table whose trigger tells the queue's workers.

. "$bench/events/common.sh"
event_title='plain inserts, 300 a second, into an attached table with `wake`; without: `wake` off'
event_rate=300

create_table() {
	sql >/dev/null <<-SQL
		create table bench (
			id bigint generated always as identity primary key,
			run_at timestamptz not null default now(),
			leased_until timestamptz,
			is_done boolean not null default false
		) with (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
			autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
		create index on bench (id) where not is_done;
		select queue_attach('bench', 'bench', pending => 'not is_done and run_at <= call_time and (leased_until is null or leased_until <= call_time)',
			order_by => 'id', on_claim => 'leased_until = call_time + lease', lease => '1 hour', wake => true);
	SQL
}

in_front() {
	local column
	case $in_state in
		leased) column="leased_until) select now() + interval '1 hour'" ;;
		scheduled) column="run_at) select now() + interval '1 day'" ;;
		dead | archived) column='is_done) select true' ;;
	esac
	sql -c "insert into bench ($column from generate_series(1, $1)"
}

jobs_behind() { sql -c "insert into bench select from generate_series(1, $1)"; }
prepare() { if [[ $side == calm ]]; then sql -c "select queue_alter('bench', wake => false)" >/dev/null; fi }
warm_up() { sql -c "begin; select from queue_pop_rows(null::bench, 'bench'); rollback" >/dev/null; }
claim_text() { say "select id from queue_pop_rows(null::bench, 'bench');"; }
event_text() { say 'insert into bench default values;'; }
# Without the trigger as many are inserted.
calm_text() { event_text; }
any_left() { [[ $(sql -c "select count(*) from queue_pop_rows(null::bench, 'bench')") == 1 ]]; }
