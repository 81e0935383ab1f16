# key-update - the bare UPDATE of a row by its primary key, in the same tables: what
# a grant, or acquiring a lock, has to write at least.

. "$bench/sides/locks.sh"
title='UPDATE by primary key'

script() {
	case $1:$2 in
		grant:1)
			printf '%s\n' "$own_row" "update throttled_resource set last_locked = clock_timestamp()," \
				"last_locker_details = 'app 1, pid 4711' where resource = 'r' || :n::integer;"
			;;
		acquire:1)
			printf '%s\n' "$own_row" "update named_lock set held = true, holder = 'postgres, pid 4711, pgbench'," \
				'held_since = clock_timestamp(), held_until = clock_timestamp(), token = token + 1' \
				"where task_id = 'l' || :n::integer;"
			;;
		*) return 2 ;;
	esac
}
