#!/usr/bin/env bash
# worker.sh - a worker with bash and psql: runs a program for each job of a queue.
#
#   worker.sh QUEUE NAME PROGRAM [ARGUMENT...]
#
# The program reads the payload from its input, and JOB_ID and JOB_ATTEMPT from its environment.
# What it prints is written to the table job_results (setup.sql) by the statement that completes
# the job. If it fails, what it prints is the error, and the job is tried again.
#
# Each statement has a psql, and so a connection, of its own; a worker that has lost its connection
# just asks again. The database is that of psql (PGHOST, PGDATABASE, ...).
#
# TERM: finishes the job under way, claims no more.

set -uo pipefail
if (($# < 3)); then
	echo 'usage: worker.sh QUEUE NAME PROGRAM [ARGUMENT...]' >&2
	exit 2
fi
queue=$1 worker=$2
shift 2
heartbeat=${HEARTBEAT:-10} # seconds; the queue's lease should be some times that
id='' attempt='' payload='' running='' stopping=''
export PGAPPNAME=$worker PGCLIENTENCODING=UTF8
files=$(mktemp -d) || exit
# A child that ends before its program runs has the trap, too.
trap '((BASHPID != $$)) || rm -rf "$files"' EXIT

say() {
	printf '%s: %s\n' "$worker" "$*" >&2
}

# While there is no job in hand, whatever the worker waits for can be ended. The server claims no job
# for a psql that is gone. (One that was claimed at that very moment comes back with its lease.)
# By KILL: a child of bash ignores TERM for a moment, before its program runs.
stop() {
	stopping=1
	if [[ -z $id && -n $running ]]; then kill -KILL "$running"; fi
}
trap stop TERM

# Runs a command in the background: bash runs no trap before one in the foreground has ended. A trap
# ends the `wait`, not the command.
run() {
	"$@" <&0 &
	running=$!
	if [[ -z $id && -n $stopping ]]; then kill -KILL "$running"; fi
	while kill -0 "$running"; do wait "$running"; done 2>/dev/null
	wait "$running"
}

# Runs a statement; its rows are in $files/rows. Asks again while there is no connection, which psql
# tells by 2, also for a statement that may have been done: a receipt is good for one completion.
ask() {
	local pause=1 status
	while
		run psql -XqAt -F $'\t' -v ON_ERROR_STOP=1 -o "$files/rows" -v queue="$queue" -v worker="$worker" \
			-v id="$id" -v attempt="$attempt" -v text="$files/text" <<<"$1" 2>"$files/error"
		status=$?
		((status == 2)) && [[ -n $id || -z $stopping ]]
	do
		say "no connection, trying again: $(<"$files/error")"
		run sleep "$((RANDOM % pause)).$RANDOM"
		pause=$((pause < 8 ? pause * 2 : 8))
	done
	return "$status"
}

# Runs the program and extends the lease until it ends. Fails if it does.
work() {
	local program timer
	set -m # a process group of its own, to end it with all its children
	JOB_ID=$id JOB_ATTEMPT=$attempt "$@" <<<"$payload" >"$files/output" 2>&1 &
	program=$!
	set +m
	while
		sleep "$heartbeat" &
		timer=$!
		wait -n "$program" "$timer"
		{ disown "$timer" && kill -KILL "$timer"; } 2>/dev/null
		kill -0 "$program" 2>/dev/null
	do
		ask "select queue_extend(:'queue', :id, :attempt)"
		if [[ $(<"$files/rows") == f ]]; then
			say "job $id was taken over: its lease had run out"
			kill -KILL -- "-$program" 2>/dev/null
		fi
	done
	wait "$program"
}

# A program may print anything; the server takes text.
text_of() {
	tr -d '\0' | iconv -c -f UTF-8 -t UTF-8
	true # iconv says that something was left out
}

# One statement, hence one transaction: the results have it exactly if the job is completed.
complete() {
	text_of <"$files/output" >"$files/text"
	ask "\\set output \`cat :'text'\`
		insert into job_results (queue, job, attempt, worker, output)
		select :'queue', :id, :attempt, :'worker', :'output'
		where queue_complete(:'queue', :id, :attempt)" || { cp "$files/error" "$files/output" && false; }
}

# A new attempt comes after the queue's backoff. Neither does anything if the job was taken over. The
# database's encoding may lack what the error has.
fail() {
	tail -c 2000 "$files/output" | text_of >"$files/text"
	ask "\\set error \`cat :'text'\`
		select queue_fail(:'queue', :id, :attempt, error => :'error')" ||
		ask "select queue_fail(:'queue', :id, :attempt, error => 'its error cannot be stored')"
}

# Without a job if none comes in a minute, or in the time that statements may take (57014).
pop() {
	ask "\\set VERBOSITY verbose
		call queue_pop_wait(:'queue', worker => :'worker')" || grep -q '57014' "$files/error"
}

while [[ -z $stopping ]]; do
	pop || break
	# Columns are separated by tabs; JSON has none. All are empty if there was no job.
	IFS=$'\t' read -r id attempt payload _ <"$files/rows"
	[[ -n $id ]] || continue
	work "$@" && complete || fail || break
	id=''
done
if [[ -z $stopping || -n $id ]]; then
	say "$(<"$files/error")"
	exit 1
fi
