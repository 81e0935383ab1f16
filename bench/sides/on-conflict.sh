# on-conflict - the usual way, INSERT ... ON CONFLICT DO NOTHING. The same table, with the
# unique index that this needs, and without the one that it does not.

. "$bench/sides/unique-insert.sh"
title='`ON CONFLICT DO NOTHING`'
template_name=on_conflict

build() {
	sql -c 'create extension queue_ext' -c "select queue_create('bench')" \
		-c 'drop index bench_unique_key_idx' \
		-c "create unique index on bench ((payload ->> 'key'))" >/dev/null
	sql -v payload="$payload" >/dev/null <<-SQL
		insert into bench (payload) select $(keyed -n ":'payload'::text") from generate_series(1, $1) n;
	SQL
}

script() {
	case $1:$2 in
		new:1)
			printf '%s\n' '\set k :k + 1' '\set key :client_id * 1000000000 + :k' \
				"insert into bench (payload) values ($(keyed ':key::bigint')) on conflict do nothing returning id;"
			;;
		duplicate:1)
			printf '%s\n' "\\set key - random(1, $BACKLOG)" \
				"insert into bench (payload) values ($(keyed ':key::bigint')) on conflict do nothing returning id;"
			;;
		new:*)
			printf '%s\n' "\\set k :k + $2" '\set key :client_id * 1000000000 + :k' \
				"with added as (insert into bench (payload)" \
				"select unnest(array(select $(keyed '(:key::bigint + n)') from generate_series(1, $2) n))" \
				"on conflict do nothing returning id) select count(*) from added;"
			;;
		*) return 2 ;;
	esac
}
