# functions.sh - what a check of test/packages/run may call in the system that it works in.

set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

apt_install() {
	apt-get -q update
	apt-get -qy --no-install-recommends install "$@"
}

as_postgres() {
	runuser -u postgres -- "$@"
}

# Debian's cluster `main`, which its package has made, with a port that was free then. No process outlives a check.
start_server() {
	local version
	read -r version _ PGPORT _ < <(pg_lsclusters --no-header)
	export PGPORT
	pg_ctlcluster "$version" main start
}

stop_server() {
	local version
	version=$(pg_lsclusters --no-header | awk '{ print $1; exit }')
	pg_ctlcluster "$version" main stop
}

sql() {
	as_postgres psql -qXAt -v ON_ERROR_STOP=1 "$@"
}
