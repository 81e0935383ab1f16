# events.wake, events.rollback ...: $kind is a file of events/. A side is what stands in front, with the event or without.

title=$(
	. "$bench/events/$kind.sh"
	say "Claims beside an event: $event_title"
)
over='jobs in front'
unit='transactions/s'
base=0
beside='cpu CPU of the sessions, µs/transaction'
rounds=${event_rounds:-$rounds}
points="0 $event_counts"
sides=$(event_sides)

# That of all sessions that have ended, in clock ticks.
session_ticks() {
	until [[ $(sql -d postgres -c "select count(*) from pg_stat_activity where datname = '$bench_db'") == 0 ]]; do sleep 0.01; done
	awk '{ sub(/.*\) /, ""); print $14 + $15 }' "/proc/$(sql -d postgres -c "select split_part(pg_read_file('postmaster.pid'), E'\n', 1)")/stat"
}

sample() {
	local before figures
	seconds=${event_seconds:-${seconds:-}}
	. "$bench/events/$kind.sh"
	template_name=event_${kind}_$in_state
	fresh "$1"
	prepare "$((${seconds:-1} + 2))"
	warm_up
	if [[ $side == event ]]; then
		event_text >"$work/event"
		pgbench_options=${options_of_event:-}
	elif declare -F calm_text >/dev/null; then
		calm_text >"$work/event"
	else
		: >"$work/event"
	fi
	before=$(session_ticks)
	if [[ -s $work/event ]]; then
		PGOPTIONS="-c synchronous_commit=$sync" pgbench -n -M prepared -c 1 -R "$event_rate" -T 3600 -f "$work/event" \
			>/dev/null 2>"$work/event_errors" &
		meanwhile=$!
		# shellcheck disable=SC2064
		trap "kill $meanwhile 2>/dev/null || true" EXIT
		sleep 0.3
	fi
	figures=$(run claim 1 "$event_clients") || return
	if [[ -s $work/event ]]; then
		kill -0 "$meanwhile" 2>/dev/null || { cat "$work/event_errors" >&2; return 1; }
		kill "$meanwhile"
		wait "$meanwhile" || true
	fi
	any_left || { say "the backlog ran out" >&2; return 1; }
	say "rate ${figures% *}"
	say "cpu $(($(session_ticks) - before)) ${figures#* }" | awk -v hertz="$(getconf CLK_TCK)" '{ printf "cpu %.6g\n", $2 * 1e6 / hertz / $3 }'
}
