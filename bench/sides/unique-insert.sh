# unique-insert - queue_unique_insert into a managed queue, by one key of the payload.

title='queue_ext, unique insert'
template_name=unique_insert

# keyed KEY [PAD]: the payload with that key.
keyed() {
	say "jsonb_build_object('key', $1, 'pad', ${2:-:payload::text})"
}

build() {
	sql -c 'create extension queue_ext' -c "select queue_create('bench')" >/dev/null
	sql -v payload="$payload" >/dev/null <<-SQL
		select count(*) from queue_unique_insert_many('bench',
			array(select $(keyed -n ":'payload'::text") from generate_series(1, $1) n), '{key}');
	SQL
}

script() {
	case $1:$2 in
		new:1)
			printf '%s\n' '\set k :k + 1' '\set key :client_id * 1000000000 + :k' \
				"select id, inserted from queue_unique_insert('bench', $(keyed ':key::bigint'), '{key}');"
			;;
		duplicate:1)
			printf '%s\n' "\\set key - random(1, $BACKLOG)" \
				"select id, inserted from queue_unique_insert('bench', $(keyed ':key::bigint'), '{key}');"
			;;
		new:*)
			printf '%s\n' "\\set k :k + $2" '\set key :client_id * 1000000000 + :k' \
				"select count(*) from queue_unique_insert_many('bench'," \
				"array(select $(keyed '(:key::bigint + n)') from generate_series(1, $2) n), '{key}');"
			;;
		*) return 2 ;;
	esac
}
