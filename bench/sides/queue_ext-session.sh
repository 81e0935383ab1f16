# queue_ext-session - the claim is an advisory lock of the session.

claim_mode=session
. "$bench/sides/attached.sh"
title='queue_ext, `session`'
template_name=session

# Here locked means claimed by another session.
lock_text() {
	say "select count(*) from queue_pop_rows(null::job, 'bench', $1)"
}

script() {
	case $1:$2 in
		# A worker has up to 100 jobs in hand, then lets go of all. What it lets go
		# of stands in front again.
		claim:1)
			printf '%s\n' "select * from queue_pop_rows(null::job, 'bench');" '\set k :k + 1' \
				'\if :k % 100 = 0' 'select pg_advisory_unlock_all();' '\endif'
			;;
		idle:1) say "select * from queue_pop_rows(null::job, 'bench');" ;;
		life:1)
			send 1
			pop_one
			say "$complete_one"
			;;
		life:* | drain:*)
			if [[ $1 == life ]]; then
				remember_payloads "$2" jsonb
				send 2
			fi
			pop_batch "$2"
			expect_batch "$2"
			say "$complete_batch"
			;;
		*) return 2 ;;
	esac
}
