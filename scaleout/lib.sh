# shellcheck shell=bash disable=SC2154
# What the scripts of scaleout/ share; to be sourced. The caller has set here, and has die, names and
# strings.

# A failure within $(...) is one of the script.
shopt -s inherit_errexit

# A connection string is of that form, and has no password.
check_string() {
	[[ $2 != *://* ]] || die "the connection string of $1 must be KEY=VALUE ..., and no URI"
	[[ ! ${2,,} =~ (^|[[:space:]])(ssl)?password[[:space:]]*= ]] ||
		die "the connection string of $1 has a password, which others could read: use passfile= or service="
}

# The connection string of a shard has one host. Of several the first may be silent, and PL/Proxy waits for it without
# end, though the look at the shard has a timeout for each, and finds the next.
check_host() {
	[[ ! $2 =~ (^|[[:space:]])host(addr)?[[:space:]]*=[[:space:]]*(\'[^\']*|[^\'[:space:]]*), ]] ||
		die "the connection string of $1 has several hosts: use one name, which leads to the primary by DNS or a virtual address"
}

# psql for scripts, on a database: with messages that can be told apart, an end to waiting for locks, and no names
# that others could have made.
run() {
	run_with '-c search_path=pg_catalog,pg_temp' "$@"
}

# In the string itself, where they win over options of the string, of a service and of the environment. A server that is
# silent is given up, so that a growth does not stand still with shards that are closed. All sessions
# speak UTF-8, since what one writes another one of another encoding reads; psql takes a terminal's else.
run_with() {
	local options="-c lock_timeout=10s ${PGOPTIONS:-} -c client_min_messages=warning -c lc_messages=C $1" conninfo=$2
	shift 2
	options=${options//\\/\\\\}
	PGCLIENTENCODING=UTF8 psql -XAtq -v ON_ERROR_STOP=1 -d "connect_timeout=${PGCONNECT_TIMEOUT:-10} $conninfo client_encoding=UTF8 options='${options//\'/\\\'}'" "$@"
}

# In SQL files, names in the places that wait for them: NAME=VALUE ... -- FILE ...
fill_in() {
	local text pairs=()
	while [[ $1 != -- ]]; do
		pairs+=("$1")
		shift
	done
	shift
	text=$(cat "$@")
	local pair
	for pair in "${pairs[@]}"; do text=${text//"@${pair%%=*}@"/"${pair#*=}"}; done
	printf '%s\n' "$text"
}

# The quoted name of the schema that an extension is in.
schema_of() {
	run "$1" -c "select quote_ident(n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace
		where e.extname = '$2'"
}

# Ends the script if one of these schemas belongs to a role that is no superuser: it could change what is in it.
check_schemas() {
	local conninfo=$1 what=$2 others
	others=$(run "$conninfo" -v names="${*:3}" <<-'SQL'
		select string_agg(format('%I of %I', n.nspname, r.rolname), ', ')
		from pg_namespace n join pg_roles r on r.oid = n.nspowner
		where n.nspname = any (string_to_array(:'names', ' ')) and not r.rolsuper
	SQL
	)
	[[ -z $others ]] || die "$what has schemas of roles that are no superusers: $others"
}

# Ends the script if texts of this database are bytes of no encoding: hashes of keys are those of their UTF-8.
check_encoding() {
	[[ $(run "$1" -c "show server_encoding") != SQL_ASCII ]] ||
		die "$2 has the encoding SQL_ASCII: make its database anew with another one, such as UTF8"
}

# In SQL at the end of a transaction that has made all functions of these schemas: drops those of other versions.
drop_older() {
	printf "select format('drop routine %%s', p.oid::regprocedure) from pg_proc p
		where p.pronamespace in (select n.oid from pg_namespace n where n.nspname in (%s)) and p.xmin <> pg_current_xact_id()::xid \\gexec\n" "$1"
}

# The extension and the functions of a shard; prints the extension's schema.
install_shard() {
	local extension
	check_encoding "$1" 'a shard'
	# In the schema where the database has its extensions.
	run_with '' "$1" -c 'create extension if not exists queue_ext' -c 'create schema if not exists queue_shard'
	check_schemas "$1" 'a shard' queue_shard
	extension=$(schema_of "$1" queue_ext)
	{
		fill_in "extschema=$extension" own=queue_shard -- \
			"$here/key.sql" "$here/type.sql" "$here/shard/map.sql" "$here/shard/grow.sql" "$here/shard.sql"
		if [[ -n ${older:-} ]]; then drop_older "'queue_shard'"; fi
	} | run "$1" -1 -o /dev/null -f -
	printf '%s\n' "$extension"
}

# What the shards compare of a map: a digest of the names of the shards, with \x1f between them, and the
# buckets as an array in SQL.
digest_of() {
	printf '%s %s' "$1" "$2" | md5sum | cut -d ' ' -f 1
}

# Sets variables, arguments for psql: name0, conninfo0 and so on are those of the shards.
name_shards() {
	local i
	variables=()
	for ((i = 0; i < ${#names[@]}; i++)); do variables+=(-v "name$i=${names[i]}" -v "conninfo$i=${strings[i]}"); done
}

# Ends the script unless a proxy's server reaches each shard, from number $4 on, by the string that this script has for
# it; with an installation, unless it reaches that shard of it.
check_reach() {
	local i tried variables
	(($4 < ${#names[@]})) || return 0
	name_shards
	# The last that it names is the one that failed.
	tried=$(
		for ((i = $4; i < ${#names[@]}; i++)); do
			printf '%s\n' "\\echo $i" "select queue_proxy.check_string($i, :'name$i', :'conninfo$i', :'installation');"
		done | run "$1" "${variables[@]}" -v installation="$3" -o /dev/null
	) || {
		i=${tried##*$'\n'}
		die "$2 does not reach shard ${names[${i:-$4}]} by its connection string"
	}
}

# Tells the shards that a proxy may have this version of the map.
note_proxies() {
	local i
	for ((i = 0; i < ${#names[@]}; i++)); do
		run "${strings[i]}" -v names="$(IFS=$'\x1f' && printf '%s' "${names[*]}")" -v version="$1" -o /dev/null <<-'SQL'
			select queue_shard.note_proxies(:version, string_to_array(:'names', e'\x1f'))
		SQL
	done
}

# The value of --shard, to names and strings.
add_shard() {
	[[ $1 == *=*=* ]] || die "--shard is NAME=CONNINFO"
	# The scripts print columns with "|" between them.
	[[ ! ${1%%=*} =~ [|[:cntrl:]] ]] || die 'a name of a shard has no "|" and no control characters'
	check_string "shard ${1%%=*}" "${1#*=}"
	check_host "shard ${1%%=*}" "${1#*=}"
	[[ $'\n'$(printf '%s\n' ${names[@]+"${names[@]}"})$'\n' != *$'\n'"${1%%=*}"$'\n'* ]] || die "two shards have the name ${1%%=*}"
	names+=("${1%%=*}")
	strings+=("${1#*=}")
	# What ends a call to a server that is gone without a word; through TCP only.
	local limit
	for limit in keepalives_idle=10 keepalives_interval=5 keepalives_count=3 tcp_user_timeout=15000; do
		[[ ${strings[-1]} == *"${limit%=*}"* ]] || strings[-1]+=" $limit"
	done
}
