# queue_ext-transaction - the claim is a row lock, until the transaction ends.

claim_mode=transaction
. "$bench/sides/attached.sh"
title='queue_ext, `transaction`'
template_name=transaction

script() {
	case $1:$2 in
		# A claim ends with its transaction: the next one gets the same row.
		claim:1 | idle:1) say "select * from queue_pop_rows(null::job, 'bench');" ;;
		life:1)
			send 1
			say 'begin;'
			pop_one
			printf '%s\n' "$complete_one" 'commit;'
			;;
		take:1)
			say 'begin;'
			pop_one
			printf '%s\n' "$complete_one" 'commit;'
			;;
		life:* | drain:*)
			if [[ $1 == life ]]; then
				remember_payloads "$2" jsonb
				send 2
			fi
			say 'begin;'
			pop_batch "$2"
			expect_batch "$2"
			printf '%s\n' "$complete_batch" 'commit;'
			;;
		*) return 2 ;;
	esac
}
