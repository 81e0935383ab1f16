# cluster.sh - a throwaway cluster from a staged PostgreSQL. Sourced, after lib.sh.
#
# Example:
#     stage_and_install "$SCRATCH/stage" .
#     cluster_start "$SCRATCH/cluster"      # sets PGHOST, PGUSER, PGDATABASE
#     psql -c 'select 1'
#     cluster_stop "$SCRATCH/cluster"

# Stages PostgreSQL in a directory, builds the checkout and installs it there.
# Exports PG_CONFIG and puts the staged programs first in PATH.
stage_and_install() {
	local stage=$1 checkout=$2
	PG_CONFIG=$("$checkout/script/stage" "$stage") || return
	export PG_CONFIG
	PATH=${PG_CONFIG%/*}:$PATH
	make -s -C "$checkout" -j"$(nproc)" WERROR=-Werror all || return
	make -s -C "$checkout" install >/dev/null
}

# Durability is off: nobody will want these data back.
cluster_start() {
	local dir=$1
	shift
	mkdir -p "$dir/socket"
	initdb --auth=trust --no-sync --username=postgres --encoding=UTF8 --locale=C.UTF-8 \
		-D "$dir/data" >"$dir/initdb.log" 2>&1 || { cat "$dir/initdb.log" >&2; return 1; }
	cat >>"$dir/data/postgresql.conf" <<-CONF
		listen_addresses = ''
		unix_socket_directories = '$dir/socket'
		fsync = off
		full_page_writes = off
		synchronous_commit = off
		max_prepared_transactions = 10
	CONF
	local setting
	for setting in "$@"; do say "$setting" >>"$dir/data/postgresql.conf"; done
	pg_ctl -D "$dir/data" -l "$dir/server.log" -w start >/dev/null || { cat "$dir/server.log" >&2; return 1; }
	export PGHOST=$dir/socket PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
}

cluster_stop() {
	local dir=$1
	[[ -e $dir/data/postmaster.pid ]] || return 0
	pg_ctl -D "$dir/data" -m fast -w stop >/dev/null
}
