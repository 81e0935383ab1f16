title='Heap and indexes more after many jobs than before, autovacuum on'
over='jobs'
unit='kB'
base=floor
lower_is_better=1
sides='floor skip-locked queue_ext-update queue_ext-transaction queue_ext-session pgq graphile-worker pg-boss'
points=$bloat_jobs
one_section=1
rounds=1

size() {
	sql -c "select coalesce(sum(pg_relation_size(c.oid)) / 1024, 0)::bigint from pg_class c
		join pg_namespace n on n.oid = c.relnamespace
		where relkind = any ('{$1}') and nspname !~ '^pg_(catalog|temp)' and nspname <> 'information_schema'"
}

# Autovacuum comes every few seconds, as in a server with work to do.
sample() {
	local heap index
	fresh "$(standing 10)"
	heap=$(size 'r,m,t') index=$(size i)
	job_limit=$1
	run life 10 "$clients" >/dev/null || return
	say "heap $(($(size 'r,m,t') - heap))"
	say "index $(($(size i) - index))"
}
