# cluster.sh - a throwaway cluster from a staged PostgreSQL. Sourced, after lib.sh.
#
# Example:
#     stage_and_install "$SCRATCH/stage" .
#     cluster_start "$SCRATCH/cluster"      # sets PGHOST, PGUSER, PGDATABASE
#     psql -c 'select 1'
#     cluster_stop "$SCRATCH/cluster"

# Stages PostgreSQL in a directory, builds the checkout and installs it there.
# Exports PG_CONFIG and puts the staged programs first in PATH. BUILD_FLAGS are g++'s.
stage_and_install() {
	local stage=$1 checkout=$2
	PG_CONFIG=$("$checkout/script/stage" "$stage") || return
	export PG_CONFIG
	PATH=${PG_CONFIG%/*}:$PATH
	make -s -C "$checkout" -j"$(nproc)" WERROR="-Werror ${BUILD_FLAGS:-}" all || return
	make -s -C "$checkout" install >/dev/null
}

# A server may take its time to start or to stop where a machine is busy.
export PGCTLTIMEOUT=${PGCTLTIMEOUT:-600}

# Makes a data directory.
cluster_init() {
	local dir=$1
	mkdir -p "$dir"
	initdb --auth=trust --no-sync --username=postgres --encoding=UTF8 --locale=C.UTF-8 \
		-D "$dir/data" >"$dir/initdb.log" 2>&1 || { cat "$dir/initdb.log" >&2; return 1; }
}

# The setting with which autovacuum comes to no table. From 18 on, an index build counts a table's rows only if it is on
# (compat.hpp): it is, and never comes.
no_autovacuum() {
	if (($(major_of "$PG_CONFIG") >= 18)); then
		say 'autovacuum_naptime = 2147483'
	else
		say 'autovacuum = off'
	fi
}

# Durability is off, as these data are never wanted back; and so is JIT compilation, which costs more
# here than it brings. The data directory is a copy of that in CLUSTER_TEMPLATE, where there is one.
cluster_start() {
	local dir=$1
	shift
	mkdir -p "$dir/socket"
	if [[ -n ${CLUSTER_TEMPLATE:-} ]]; then
		cp -a "$CLUSTER_TEMPLATE/data" "$dir/data"
	else
		cluster_init "$dir" || return
	fi
	cat >>"$dir/data/postgresql.conf" <<-CONF
		listen_addresses = ''
		unix_socket_directories = '$dir/socket'
		fsync = off
		full_page_writes = off
		synchronous_commit = off
		jit = off
		max_prepared_transactions = 10
		log_line_prefix = '%m [%p] [%e] '
	CONF
	local setting
	for setting in "$@"; do say "$setting" >>"$dir/data/postgresql.conf"; done
	local environment=() options=()
	if [[ ${QUEUE_EXT_SANITIZE:-} == *address* ]]; then
		# The library is loaded into programs that were built without it. What PostgreSQL
		# leaves to the end of a process is no leak.
		environment=(env "LD_PRELOAD=$(${CXX:-g++} -print-file-name=libasan.so)"
			ASAN_OPTIONS=detect_leaks=0:abort_on_error=1)
	fi
	if [[ -n ${QUEUE_EXT_VALGRIND:-} ]]; then
		write_valgrind_wrapper "$dir"
		options=(-p "$dir/postgres" -t 600)
	fi
	"${environment[@]}" pg_ctl -D "$dir/data" -l "$dir/server.log" -w "${options[@]}" start >/dev/null ||
		{ cat "$dir/server.log" >&2; return 1; }
	export SERVER_LOG=$dir/server.log
	export PGHOST=$dir/socket PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
}

# A program for pg_ctl that runs the server under memcheck, which writes what it finds
# into memcheck.* in the same directory.
write_valgrind_wrapper() {
	local dir=$1 share
	share=$(pg_config --sharedir)
	cat >"$dir/postgres" <<-WRAPPER
		#!/bin/sh
		if [ "\$1" = -V ]; then exec $(pg_config --bindir)/postgres -V; fi
		exec valgrind --quiet --leak-check=no --gen-suppressions=no --error-markers=VALGRINDERROR-BEGIN,VALGRINDERROR-END \\
		    --suppressions=$share/valgrind.supp --time-stamp=no --trace-children=yes \\
		    --log-file=$dir/memcheck.%p $(pg_config --bindir)/postgres "\$@"
	WRAPPER
	chmod +x "$dir/postgres"
}

# Shows what memcheck has found, if it was asked. Fails if there is anything.
cluster_memcheck() {
	local dir=$1 file status=0
	for file in "$dir"/memcheck.*; do
		if [[ -s $file ]] && grep -q VALGRINDERROR-BEGIN "$file"; then
			status=1
			cat "$file"
		fi
	done
	return "$status"
}

# crashes_in DIR: what servers' logs in it have of crashes, with the log's path. That of cluster_start is a
# server.log; those of PostgreSQL's test modules are in tmp_check/log. What tests do to servers is signal 9,
# an immediate stop or the end of a session.
crashes_in() {
	(cd "$1" && find . \( -name server.log -o -path '*/tmp_check/log/*.log' \) -exec grep -aHE \
		'TRAP:|runtime error:|PANIC:|terminated by signal (4|6|8|11)\b' {} + 2>/dev/null) |
		sed -E 's,^\./,,; s/(\.log):/\1: /' || true
}

cluster_stop() {
	local dir=$1
	[[ -e $dir/data/postmaster.pid ]] || return 0
	pg_ctl -D "$dir/data" -m fast -w -t 600 stop >/dev/null
}
