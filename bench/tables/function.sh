# function.sh - the condition has a function of the application's own: its clock in microseconds.

. "$bench/tables/common.sh"
table_title='a function of its own in `pending`'
attach_pending="state = 'ready' and microseconds(run_at) <= microseconds(call_time)"
hand_pending="state = 'ready' and microseconds(run_at) <= microseconds(now())"

change_table() {
	sql -c 'create function microseconds(moment timestamptz) returns bigint
		language sql immutable return (extract(epoch from moment) * 1000000)::bigint'
}
