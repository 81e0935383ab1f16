# lib.sh - how a sample is taken. Sourced by bench/measure, after script/lib.sh.
#
# A sample is taken in a fresh copy of a template database: what one sample leaves
# behind, no other sees. The side's file and then the situation's are sourced in a
# subshell; see README.md for what they define.
#
# Example (a situation):
#     sample() {
#         fresh "$backlog"
#         rate claim 1 "$1"
#     }

bench_db=bench_sample

sql() {
	psql -XqAt -v ON_ERROR_STOP=1 "$@"
}

admin() {
	sql -d postgres -c "$1"
}

# A json object of about that many bytes that does not compress to nothing.
make_payload() {
	local bytes=$1 hex
	hex=$(head -c $((bytes / 2 + 8)) /dev/urandom | od -An -vtx1 | tr -d ' \n')
	printf '{"pad": "%s"}' "${hex:0:$((bytes > 20 ? bytes - 11 : 9))}"
}

# fresh JOBS: makes bench_db a copy of the side's template with that many jobs.
fresh() {
	local jobs=$1 template
	export BACKLOG=$jobs
	template=t_${template_name:-$side}_${build:-build}_${jobs}_${bytes}_${tick:-0}
	template=${template//-/_}
	if [[ $(admin "select count(*) from pg_database where datname = '$template'") == 0 ]]; then
		admin "create database $template"
		if ! PGDATABASE=$template PGOPTIONS='-c synchronous_commit=off' "${build:-build}" "$jobs"; then
			admin "drop database $template with (force)"
			return 1
		fi
		sql -d "$template" -c 'create extension if not exists pg_prewarm'
		sql -d "$template" -c 'vacuum (freeze, analyze)'
	fi
	admin "drop database if exists $bench_db with (force)"
	admin "create database $bench_db template $template strategy file_copy"
	export PGDATABASE=$bench_db
	sql -c "select count(pg_prewarm(oid)) from pg_class
		where relkind in ('r', 'i', 't') and relnamespace <> 'pg_catalog'::regnamespace
			and pg_relation_size(oid) > 0" >/dev/null
}

# standing BATCH: as many jobs as must stand in the queue so that a client that sends
# a batch and then claims one finds one: what it sent another may claim, and what
# that one sent, a snapshot may be too old to show. The sides that hand out jobs in
# another way begin empty.
standing() {
	if [[ -n ${begins_empty:-} ]]; then
		say 0
	else
		say $((2 * clients * $1 > 1000 ? 2 * clients * $1 : 1000))
	fi
}

# drive_pgbench BATCH CLIENTS OPTION...: runs $work/script; errors go to $work/errors.
drive_pgbench() {
	local batch=$1 clients=$2
	shift 2
	PGOPTIONS="-c synchronous_commit=$sync ${side_options:-}" pgbench -n -M prepared \
		-c "$clients" -j "$((clients < 4 ? clients : 4))" ${pgbench_options:-} "$@" -f "$work/script" \
		-D payload="$payload" -D k=0 -D batch="$batch" -D queues="${queues:-1}" 2>"$work/errors"
}

# run KIND BATCH CLIENTS: prints "JOBS_A_SECOND JOBS". A side that is not made of
# SQL has a run of its own.
run() {
	local kind=$1 batch=$2 clients=$3 out status=0 limit
	script "$kind" "$batch" >"$work/script" || return
	if [[ -n ${job_limit:-} ]]; then
		limit=(-t $((job_limit / batch / clients)))
	else
		limit=(-T "$seconds")
	fi
	out=$(drive_pgbench "$batch" "$clients" "${limit[@]}") || status=$?
	# A drained backlog ends a run; anything else that ends it early is a fault.
	if ((status != 0)) && ! { [[ $kind == drain ]] && ! grep -v -e drained -e 'Run was aborted' \
		"$work/errors" | grep -q -e ERROR -e aborted; }; then
		cat "$work/errors" >&2
		return 1
	fi
	awk -v batch="$batch" '
		/^number of transactions actually processed/ { sub(/.*: /, ""); sub("/.*", ""); done = $0 }
		/^tps =/ { rate = $3 }
		END { if (done == 0) exit 1; printf "%.6g %d\n", rate * batch, done * batch }' <<<"$out"
}

# series KIND BATCH CLIENTS: prints "SECOND JOBS_A_SECOND" for each second of the sample,
# as pgbench reports its progress. A side that has its own run has its own series.
series() {
	local kind=$1 batch=$2 clients=$3
	script "$kind" "$batch" >"$work/script" || return
	# A report comes at its second or later, so the last one needs time to come.
	if ! drive_pgbench "$batch" "$clients" -P 1 -T $((seconds + 1)) >/dev/null; then
		grep -v '^progress: ' "$work/errors" >&2
		return 1
	fi
	awk -v batch="$batch" -v seconds="$seconds" '
		/^progress: / && int($2) > last && int($2) <= seconds {
			last = int($2)
			printf "%d %.6g\n", last, $4 * batch
		}
		END { exit !last }' "$work/errors"
}

# rate KIND BATCH CLIENTS: the sample of most situations.
rate() {
	local figures
	figures=$(run "$@") || return
	if [[ $1 == claim && $side != select-1 && $side != floor* ]] && declare -F any_left >/dev/null; then
		any_left || { say "the backlog ran out" >&2; return 1; }
	fi
	say "rate ${figures% *}"
}

# rate_after SECONDS KIND BATCH CLIENTS: the rate without the first seconds.
rate_after() {
	local before=$1 all
	shift
	all=$(seconds=$((before + ${seconds:-1})) series "$@") || return
	if declare -F any_left >/dev/null; then
		any_left || { say "the backlog ran out" >&2; return 1; }
	fi
	awk -v before="$before" '
		$1 > before { rate += $2; n++ }
		END { if (n == 0) exit 1; printf "rate %.6g\n", rate / n }' <<<"$all"
}

# hold SQL: a session that runs it in an open transaction and keeps it open until
# the subshell ends.
hold() {
	sql -c "set application_name = 'bench_holder'" -c 'begin isolation level '"${holder_level:-read committed}" \
		-c "$1" -c 'select pg_sleep(3600)' >/dev/null 2>"$work/holder" &
	holder=$!
	# shellcheck disable=SC2064
	trap "kill $holder 2>/dev/null || true" EXIT
	until [[ $(sql -c "select count(*) from pg_stat_activity
		where application_name = 'bench_holder' and query ~ '^select pg_sleep'") == 1 ]]; do
		kill -0 "$holder" 2>/dev/null || { cat "$work/holder" >&2; return 1; }
		sleep 0.05
	done
}

# Ends a script when a batch came out short.
expect_batch() {
	printf '%s\n' "\\if :n < $1" 'do $$ begin raise exception '"'drained'"'; end $$;' '\endif'
}

# The array that batches send goes from the client to the server each time.
remember_payloads() {
	printf '%s\n' '\if :k = 0' \
		"select array_fill(cast(:payload as $2), array[$1])::text as payloads \\gset" \
		'\set k 1' '\endif'
}
