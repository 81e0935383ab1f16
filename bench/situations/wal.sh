title='WAL of a job: send, claim and complete, without full-page images'
over='jobs a batch'
unit='B/job'
base=floor
lower_is_better=1
sides='floor skip-locked queue_ext-update queue_ext-transaction queue_ext-session pgq graphile-worker pg-boss'
points=$wal_batches
one_section=1
rounds=1

lsn() {
	sql -c 'select pg_current_wal_insert_lsn()'
}

# One client: all of them write the same, and none is idle in between. Autovacuum is
# off, so that all WAL that is counted is the jobs'.
sample() {
	local from figures
	fresh "$(standing "$1")"
	admin 'alter system set autovacuum = off'
	admin 'alter system set full_page_writes = off'
	admin 'select pg_reload_conf()' >/dev/null
	admin checkpoint
	sleep 0.3
	from=$(lsn)
	job_limit=$wal_jobs
	figures=$(run life "$1" 1) || { restore; return 1; }
	sql -c "select 'rate', round((pg_current_wal_insert_lsn() - '$from') / ${figures#* }, 1)" -F ' '
	restore
}

restore() {
	admin 'alter system reset autovacuum'
	admin 'alter system reset full_page_writes'
	admin 'select pg_reload_conf()' >/dev/null
}
