# skip-locked-transaction - what mode transaction does, written by hand on the same table: lock a job, delete it,
# commit.

claim_mode=transaction
. "$bench/sides/attached.sh"
title='by hand, `SELECT … SKIP LOCKED` and `DELETE`'
template_name=transaction

script() {
	[[ $1 == take ]] || return 2
	printf '%s\n' 'begin;' \
		'select id, payload from job where run_at <= now() order by priority, run_at, id
			for update skip locked limit 1 \gset' \
		'delete from job where id = :id;' 'commit;'
}
