# pg-boss.sh - pg-boss's table, in which the queue has a partition of its own, as its manual advises for large
# queues. Ours is attached to the whole table. By hand: its own fetch, which names the partition.

. "$bench/tables/common.sh"
table_title="pg-boss's table"
claimed="state = 'active', started_on = now(), heartbeat_on = now(),
	retry_count = case when started_on is not null then retry_count + 1 else retry_count end"
claimed=${claimed//$'\n\t'/ }
id_of_number='md5(:n::text)::uuid'

build() {
	sql -c 'create extension queue_ext' -f "$bench/../test/layouts/pg_boss.sql"
	sql -c "call make_queue('bench', partition => true)"
	sql -v payload="$payload" <<-SQL
		insert into job (id, name, data, policy, created_on)
		select md5(n::text)::uuid, 'bench', :'payload'::jsonb, 'standard', now() + n * interval '1 microsecond'
		from generate_series(1, $1) n;
	SQL
	sql >/dev/null <<-'SQL'
		select queue_attach('bench', 'job',
			pending => $$name = 'bench' and state < 'active' and not blocked and start_after <= call_time$$,
			order_by => 'priority desc, created_on',
			on_claim => $$state = 'active', started_on = call_time, heartbeat_on = call_time,
				retry_count = case when started_on is null then retry_count else retry_count + 1 end$$);
	SQL
}

pop_text() {
	say "select id, name, data, expire_seconds, heartbeat_seconds, group_id, group_tier" \
		"from queue_pop_rows(null::job, 'bench');"
}

hand_text() {
	local partition
	partition=$(sql -c "select quote_ident(table_name) from queue where name = 'bench'")
	say "with next as (select j.id from $partition j where j.name = 'bench' and j.state < 'active' and not j.blocked" \
		"and j.start_after <= now() order by j.priority desc, j.created_on limit 1 for update of j skip locked)" \
		"update $partition j set $claimed from next where name = 'bench' and j.id = next.id" \
		"returning j.id, name, data, expire_seconds, heartbeat_seconds, group_id, group_tier;"
}

key_text() {
	say "update job set $claimed where name = 'bench' and id = $id_of_number" \
		"returning id, name, data, expire_seconds, heartbeat_seconds, group_id, group_tier;"
}

first() {
	say "name = 'bench' and id in (select md5(n::text)::uuid from generate_series(1, $1) n)"
}

lease() {
	prepare_sql -c "update job set $claimed where $(first "$1")" -c vacuum
}

# Finished jobs stay for a while.
kill_jobs() {
	prepare_sql -c "update job set $claimed where $(first "$1")" \
		-c "update job set state = 'completed', completed_on = now() where $(first "$1")"
}

lock_text() {
	say "select count(*) from (select from job where $(first "$1") for update) l"
}

any_left() {
	[[ $(sql -c "select count(*) from (select from job where name = 'bench' and state < 'active' limit 1) j") == 1 ]]
}
