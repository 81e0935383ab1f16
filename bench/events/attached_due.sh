# attached_due.sh - rows of an attached queue fall due one by one, as their claims end, or their time comes, while one client polls.

. "$bench/events/wake.sh"
event_title='polls of an empty attached queue in which 20 rows a second fall due'
event_jobs=0
event_clients=1

prepare() {
	local column=run_at
	[[ $side == event ]] || return 0
	if [[ $in_state == leased ]]; then column=leased_until; fi
	sql -c "insert into bench ($column) select clock_timestamp() + n * interval '50 ms' from generate_series(1, 20 * ($1 + 5)) n"
}
event_text() { :; }
calm_text() { :; }
any_left() { :; }
