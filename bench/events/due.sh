# due.sh - jobs fall due one by one, as their leases end, or their time comes, while one client polls.

. "$bench/events/common.sh"
event_title='polls of an empty queue in which 20 jobs a second fall due'
event_jobs=0
event_clients=1

prepare() {
	local value="run_at) select '1'," when="clock_timestamp() + n * interval '50 ms'"
	[[ $side == event ]] || return 0
	if [[ $in_state == leased ]]; then value="attempt, leased_until) select '1', 1,"; fi
	sql -c "insert into bench (payload, $value $when from generate_series(1, 20 * ($1 + 5)) n"
}
