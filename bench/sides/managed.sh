# managed.sh - a managed queue; sides that are measured in the same table begin with this file.

template_name=managed
table=bench
front='priority, run_at, id'

build() {
	sql -c 'create extension queue_ext' -c "select queue_create('bench', lease => '1 hour')" >/dev/null
	sql -v payload="$payload" >/dev/null <<-SQL
		insert into bench (payload) select :'payload'::jsonb from generate_series(1, $1);
	SQL
}

any_left() {
	[[ $(sql -c "select count(*) from queue_pop('bench')") == 1 ]]
}

lock_text() {
	say "select count(*) from (select from $table order by $front limit $1 for update) l"
}

# in_front leased|locked|dead COUNT
in_front() {
	(($2 > 0)) || return 0
	local first="select id from $table order by $front limit $2"
	case $1 in
		leased)
			sql -c "update $table set $leased where id in ($first)" -c "vacuum $table"
			;;
		locked) hold "$(lock_text "$2")" ;;
		dead)
			# Each leaves the versions that a claim and its completion leave.
			holder_level='repeatable read' hold 'select count(*) from pg_class'
			sql -c "create temp table victim as $first" \
				-c "update $table set $leased where id in (select id from victim)" \
				-c "delete from $table where id in (select id from victim)"
			;;
	esac
}

leased="attempt = attempt + 1, leased_until = clock_timestamp() + interval '1 hour', leased_by = 'bench'"
