# locks - throttles and locks. Each client has rows of its own, ten of a thousand.

template_name=locks
title='queue_ext, throttles and locks'

build() {
	sql -c 'create extension queue_ext' \
		-c "select throttle_create('denied', '1 day'), lock_throttled_resource('denied', 'app 1, pid 4711')" \
		-c "select count(throttle_create('r' || n, '1 microsecond')) from generate_series(0, $1 - 1) n" \
		-c "select count(timeout_acquire('l' || n, '1 microsecond')) from generate_series(0, $1 - 1) n" >/dev/null
}

own_row='\set n :client_id * 10 + random(0, 9)'

script() {
	case $1:$2 in
		denial:1) say "select lock_throttled_resource('denied', 'app 1, pid 4711');" ;;
		grant:1) printf '%s\n' "$own_row" "select lock_throttled_resource('r' || :n::integer, 'app 1, pid 4711');" ;;
		acquire:1) printf '%s\n' "$own_row" "select timeout_acquire('l' || :n::integer, '1 microsecond');" ;;
		*) return 2 ;;
	esac
}
