# common.sh - a managed queue with jobs in front that no claim may have, of one state, and an event that happens while
# clients claim. Each kind of event defines these, but for those that this file defines and that suit it:
#
#     event_title             what the figures call it
#     event_jobs              how many claimable jobs stand behind those in front (event_backlog)
#     event_clients           how many claim
#     claim_text              what they do, with the event and without: "event" or "calm"
#     event_text, event_rate  what another session does meanwhile, so many times a second; no text: nothing
#     prepare SECONDS         what must be in the table for it, when the sample begins
#     calm_text               the same without the event, if not nothing
#     options_of_event        of pgbench, for the claims

event_jobs=$event_backlog
event_clients=$clients
event_rate=100
event_text() { :; }
prepare() { :; }

claim_text() { say "select queue_complete('bench', id, attempt) from queue_pop('bench');"; }

create_table() {
	sql -c "select queue_create('bench', lease => '1 hour', archive => true)" >/dev/null
}

# in_front COUNT: columns and values of n.
in_front() {
	local columns
	case $in_state in
		leased) columns="leased_until, attempt, leased_by) select now() + interval '1 hour', 1, 'bench'" ;;
		scheduled) columns="run_at) select now() + interval '1 day' + n * interval '1 ms'" ;;
		dead) columns="dead_at, attempt, max_attempts) select now(), 1, 1" ;;
		archived)
			sql -c "insert into bench_archive (id, run_at, created_at, finished_at, attempt, max_attempts, priority, state, payload)
				select -n, now(), now(), now(), 1, 25, 0, 'completed', '1' from generate_series(1, $1) n"
			return
			;;
	esac
	sql -c "insert into bench (payload, ${columns/) select/) select \'1\',} from generate_series(1, $1) n"
}

jobs_behind() {
	sql -c "insert into bench (payload) select '1' from generate_series(1, $1)"
}

build() {
	sql -c 'create extension queue_ext'
	create_table
	in_front "$1"
	jobs_behind "$event_jobs"
}

# What the server as a whole had to learn is not the event's price.
warm_up() { sql -c "begin; select from queue_pop('bench'); rollback" >/dev/null; }

any_left() {
	((event_jobs == 0)) || [[ $(sql -c "select count(*) from queue_pop('bench')") == 1 ]]
}
