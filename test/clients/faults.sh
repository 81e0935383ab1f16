# faults.sh - handlers that err, and servers that do not answer. Sourced by test/clients/run, after its own tests.
#
# A worker of each client, by fault.py and fault.mjs, at a queue NAME_f.

# start_proxy CLIENT [WHAT]: between the client and the server; see lose-reply.
start_proxy() {
	proxy=$area/$1-faults/.s.PGSQL.$PGPORT
	mkdir -p "$area/$1-faults"
	"$here/lose-reply" "$proxy" "$PGHOST/.s.PGSQL.$PGPORT" "${2:-nothing}" &
	pid_of[proxy]=$!
	wait_until 'the proxy listens' test -S "$proxy"
}

# start_silence CLIENT: what accepts connections in the place of the proxy, and does not answer.
start_silence() {
	proxy=$area/$1-faults/.s.PGSQL.$PGPORT
	perl -MIO::Socket::UNIX -e '
		my ($path, $file) = @ARGV;
		my $listener = IO::Socket::UNIX->new(Local => $path, Listen => 8) or die "$path: $!\n";
		my @clients;
		while (1) { push @clients, $listener->accept; open my $out, ">", $file or die; close $out }' "$proxy" "$area/connecting" &
	pid_of[proxy]=$!
	wait_until 'it listens' test -S "$proxy"
}

# Connections through it end, and none can be made.
stop_proxy() {
	kill -KILL "${pid_of[proxy]}"
	{ wait "${pid_of[proxy]}" || true; } 2>/dev/null
	unset 'pid_of[proxy]'
	rm -f "$proxy"
}

# start_fault CLIENT
start_fault() {
	(PGHOST=$area/$1-faults in_client "$1" work "$1" fault) >>"$area/$1.log" 2>&1 &
	pid_of[$1]=$!
}

# send_fault CLIENT PAYLOAD [ARGUMENTS]: a job that has one attempt. Prints its id.
send_fault() {
	sql -c "select queue_send('${1}_f', '$2', max_attempts => 1${3:+, $3})"
}

# has_failed CLIENT JOB / is_done CLIENT WHAT, for wait_until
has_failed() {
	says "select dead_at <= clock_timestamp() from ${1}_f where id = $2"
}

is_done() {
	says "select exists (select from done where queue = '${1}_f' and what = '$2')"
}

# stop_fault CLIENT: tells it to stop, and waits; its exit status is in `ended`. To be called when the program is known to
# run: bash's child ignores a signal that comes in the moment before it resets the traps.
stop_fault() {
	kill -TERM "${pid_of[$1]}" 2>/dev/null || true
	wait_until "$1 stops" is_over "$1"
	ends "$1"
}

# has_heard CLIENT: whether SIGINT was delivered to it, so that a second one is not taken for the first.
has_heard() {
	local pending
	pending=$(awk '/^ShdPnd/ { print $2 }' "/proc/${pid_of[$1]}/status")
	((!(16#$pending & 2)))
}

# are_answered CLIENT JOB: whether three heartbeats come, and none is given up meanwhile.
are_answered() {
	local given_up lease tries count=0 before=
	given_up=$(grep -c 'no answer in 5 s' "$area/$1.log")
	for tries in {1..100}; do
		lease=$(sql -c "select leased_until from ${1}_f where id = $2")
		if [[ $lease != "$before" ]]; then count=$((count + 1)); fi
		before=$lease
		if ((count == 4)); then break; fi
		sleep 0.1
	done
	((count == 4 && $(grep -c 'no answer in 5 s' "$area/$1.log") == given_up))
}

is_over() {
	[[ ! -e /proc/${pid_of[$1]} || $(awk '{ print $3 }' "/proc/${pid_of[$1]}/stat" 2>/dev/null) == Z ]]
}

for client in "${clients[@]}"; do
	sql -c "select queue_create('${client}_f', backoff_base => '10 milliseconds')" >/dev/null
	: >"$area/$client.log"
	start_proxy "$client"
	start_fault "$client"

	# What a handler leaves behind when its job fails.
	job=$(send_fault "$client" '{"do": "leave"}')
	wait_until 'the job has failed' has_failed "$client" "$job"
	: >"$area/go 1"
	wait_until 'what the handler has left behind goes on' test -s "$area/$client-go 1"
	is "$client: after its job nothing is executed" "$(<"$area/$client-go 1")" 'the job is over'
	send_fault "$client" '{"do": "next", "gate": "next", "before": true}' >/dev/null
	wait_until 'the next job is under way' test -e "$area/$client-next"
	: >"$area/go 2"
	wait_until 'what the handler has left behind goes on' test -s "$area/$client-go 2"
	is "$client: nor in the transaction of another" "$(<"$area/$client-go 2")" 'the job is over'
	: >"$area/next"
	wait_until 'the next job is done' is_done "$client" next
	ok "$client: and nothing was written" "select not exists (select from done where queue = '${client}_f' and what = 'late')"

	# Of jobs whose connection is lost, and which fail while another one is made.
	if [[ $client != sync ]]; then
		for round in 1 2 3; do
			job=$(send_fault "$client" "{\"do\": \"late begin\", \"gate\": \"late $round\"}")
			wait_until 'the job is under way' test -e "$area/$client-late $round"
			stop_proxy
			: >"$area/late $round"
			wait_until 'the connection is lost' grep -q "job $job of ${client}_f failed" "$area/$client.log"
			start_proxy "$client"
			wait_until 'the job has failed' has_failed "$client" "$job"
			send_fault "$client" "{\"do\": \"after $round\"}" >/dev/null
			wait_until 'the next job is done' is_done "$client" "after $round"
		done
		ok "$client: a transaction does not begin after its job" "select not exists (select from done where queue = '${client}_f' and what = 'late begin')"
		is "$client: and statements of the client are in none" "$(grep -c 'ends:' "$area/$client.log")" 0
	fi

	# A statement that the handler does not await: it fails after the completion, or is not executed.
	if [[ $client != sync ]]; then
		job=$(send_fault "$client" '{"do": "float"}')
		wait_until 'the job has ended' says "select not exists (select from ${client}_f where id = $job and dead_at is null)"
		ok "$client: what was written is there exactly if the job is completed" "select
			exists (select from done where queue = '${client}_f' and what = 'float') <> exists (select from ${client}_f where id = $job)"
	fi
	if [[ $client == node ]]; then
		send_fault "$client" '{"do": "savepoint"}' >/dev/null
		wait_until 'a handler may roll back to a savepoint' is_done "$client" savepoint
		job=$(send_fault "$client" '{"do": "comment"}')
		wait_until 'a handler cannot commit after a comment' has_failed "$client" "$job"
	fi

	# What a handler says amiss, and a payload that the client cannot read: the job fails, and others are done.
	for what in 'delay 300' soon 'too late'; do send_fault "$client" "{\"do\": \"$what\"}" >/dev/null; done
	if [[ $client == node ]]; then
		send_fault "$client" '{"do": "release"}' >/dev/null
		wait_until 'a time that is none is left out' is_done "$client" release
	else
		send_fault "$client" "{\"n\": 1$(printf '0%.0s' {1..5000})}" >/dev/null
		unreadable=1
		# Newer ones read that.
		if ! "$python" -c 'import json; json.loads("[" * 3000 + "]" * 3000)' 2>/dev/null; then
			send_fault "$client" "$(printf '[%.0s' {1..3000})$(printf ']%.0s' {1..3000})" >/dev/null
			unreadable=2
		fi
		wait_until 'payloads that cannot be read fail' says "select count(*) = $unreadable from ${client}_f where last_error ~ '^(ValueError|RecursionError): '"
	fi
	send_fault "$client" '{"do": "after poison"}' >/dev/null
	wait_until 'the next job is done' is_done "$client" 'after poison'
	ok "$client: a mistake in what a handler raises is the error of the job" "select count(*) filter (where last_error ~ '^TypeError: ') = 2
		and count(*) filter (where last_error = 'busy €') = 1 from ${client}_f where dead_at <= clock_timestamp()"

	# A connection that is lost, and a statement that is cancelled while another one is made.
	if [[ $client == async ]]; then
		job=$(send_fault "$client" '{"do": "cut reset", "gate": "cut reset"}')
		wait_until 'the job is under way' test -e "$area/$client-cut reset"
		stop_proxy
		start_silence "$client"
		: >"$area/cut reset"
		wait_until 'it is connecting' test -e "$area/connecting"
		wait_until 'the job has failed' grep -q "job $job of ${client}_f failed" "$area/$client.log"
		stop_proxy
		start_proxy "$client"
		wait_until 'it goes on' has_failed "$client" "$job"
		rm "$area/connecting" "$area/cut reset"
	fi
	stop_fault "$client"
	is "$client: told to stop after all that, it exits with 0" "$ended" 0

	# A connection of heartbeats that says nothing more.
	stop_proxy
	start_proxy "$client" extend
	HEARTBEAT=0.3 start_fault "$client"
	job=$(send_fault "$client" '{"do": "long", "gate": "mute"}')
	wait_until 'the job is under way' test -e "$area/$client-mute"
	lease=$(sql -c "select leased_until from ${client}_f where id = $job")
	wait_until 'heartbeats go on' says "select leased_until > '$lease' from ${client}_f where id = $job"
	# More than one is where a machine stands still for so long: those that come then are answered again.
	is "$client: a heartbeat without an answer is given up" "$(grep -m 1 -c 'no answer in 5 s' "$area/$client.log")" 1
	wait_until 'the next heartbeats are answered' are_answered "$client" "$job"
	: >"$area/mute"
	wait_until 'the job is done' is_done "$client" long

	# Told to stop long before a job writes for the first time, and then fails: it has a transaction all the same, and is
	# given back. After five seconds a client waits for no server any more.
	job=$(send_fault "$client" '{"do": "undone", "gate": "undone"}')
	wait_until 'the job is under way' test -e "$area/$client-undone"
	kill -TERM "${pid_of[$client]}"
	sleep 6
	: >"$area/undone"
	wait_until "$client stops" is_over "$client"
	ends "$client"
	ok "$client: what a job has written that fails long after the stop is rolled back, and the job has failed" "select
		not exists (select from done where queue = '${client}_f' and what = 'undone')
		and (select last_error ~ 'failed' and dead_at <= clock_timestamp() from ${client}_f where id = $job)"
	start_fault "$client"

	# Told to stop where there is no server any more: for a job to give back, and one that would begin.
	for what in fail begin; do
		if [[ $what == begin ]]; then
			start_proxy "$client"
			start_fault "$client"
		fi
		send_fault "$client" "{\"do\": \"$what\", \"gate\": \"gone $what\"}" >/dev/null
		wait_until 'the job is under way' test -e "$area/$client-gone $what"
		stop_proxy
		: >"$area/gone $what"
		stop_fault "$client"
		is "$client: where there is no server it stops all the same ($what)" "$ended" 0
	done
	start_silence "$client"
	start_fault "$client"
	wait_until 'it is connecting' test -e "$area/connecting"
	stop_fault "$client"
	is "$client: told to stop while it connects, it exits with 0" "$ended" 0

	# A server that refuses a client: at first, which is a mistake, and later.
	stop_proxy
	start_proxy "$client"
	PGDATABASE=missing start_fault "$client"
	wait_until 'it ends' is_over "$client"
	ends "$client"
	is "$client: refused at first, it ends with an error" "$ended" 1
	sql -c "create role $client superuser login"
	PGUSER=$client start_fault "$client"
	wait_until 'it waits' says "select exists (select from pg_stat_activity where usename = '$client' and query ~ '^call queue_pop_wait')"
	sql -c "alter role $client nologin" -c "select pg_terminate_backend(pid) from pg_stat_activity where usename = '$client'" >/dev/null
	wait_until 'it is refused' grep -q 'is not permitted to log in' "$area/$client.log"
	sql -c "alter role $client login"
	send_fault "$client" '{"do": "after refusal"}' >/dev/null
	wait_until 'refused later, it goes on' is_done "$client" 'after refusal'
	stop_fault "$client"
	sql -c "drop role $client"

	# A program's own handlers of signals, and a second SIGINT.
	if [[ $client != node ]]; then
		ok_file=$area/$client-signals
		is "$client: the program's handler of a signal is restored" "$(grep -c 'lambda' "$ok_file")" 1
	fi
	if [[ $client == sync ]]; then
		start_fault "$client"
		job=$(send_fault "$client" '{"do": "awaitable"}')
		wait_until 'what is to be awaited is an error' says "select last_error ~ '^TypeError: what a plain' from ${client}_f where id = $job"
		stop_fault "$client"
	fi
	if [[ $client == async ]]; then
		start_fault "$client"
		send_fault "$client" '{"do": "never", "gate": "never ever"}' >/dev/null
		wait_until 'the job is under way' test -e "$area/$client-never ever"
		kill -INT "${pid_of[$client]}"
		wait_until 'it has heard' has_heard "$client"
		kill -INT "${pid_of[$client]}" 2>/dev/null || true
		wait_until 'it ends' is_over "$client"
		ends "$client"
		is "$client: interrupted twice, it ends in the middle of a job" "$(grep -c '^KeyboardInterrupt' "$area/$client.log")" 1
	fi
	rm -f "$area/connecting" "$area/mute" "$area/undone" "$area"/gone\ *
	stop_proxy
	rm -f "$area"/{go,late}\ [123] "$area/next"
done
