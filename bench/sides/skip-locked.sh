# skip-locked - the plain statement that most write by hand, in its best form: a
# status column and a partial index in the order of the claim, so that neither
# leased rows nor finished ones are in its way. Same columns otherwise, same
# storage settings.

. "$bench/sides/managed.sh"
title='plain `SKIP LOCKED`'
template_name=skip_locked
table=job
leased="status = 'running', $leased"

create_table() {
	sql <<-SQL
		create table job (
			id bigint generated always as identity primary key,
			run_at timestamptz not null default now(),
			created_at timestamptz not null default now(),
			leased_until timestamptz,
			attempt integer not null default 0,
			queue integer not null default 1,
			priority smallint not null default 0,
			status text not null default 'ready',
			leased_by text,
			payload jsonb not null
		) with (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02,
			autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
		create index on job ($1) where status = 'ready';
	SQL
}

fill() {
	sql -v payload="$payload" <<-SQL
		insert into job (queue, payload)
		select 1 + n % $2, :'payload'::jsonb from generate_series(1, $1) n;
	SQL
}

build() {
	create_table 'priority, run_at, id'
	fill "$1" 1
}

build_queues() {
	create_table 'queue, priority, run_at, id'
	fill "$1" "$queues"
}

any_left() {
	[[ $(sql -c "select count(*) from (select from job where status = 'ready' limit 1) j") == 1 ]]
}

claim() {
	say "update job set status = 'running', attempt = attempt + 1," \
		"leased_until = clock_timestamp() + interval '1 hour', leased_by = 'bench'" \
		"where id = (select id from job where status = 'ready' and run_at <= now() $1" \
		"order by priority, run_at, id for update skip locked limit 1) returning id, attempt, payload"
}

# Not "id in (select ... limit)": the planner may run that more than once.
claim_batch() {
	say "with picked as materialized (select id from job where status = 'ready' and run_at <= now()" \
		"order by priority, run_at, id for update skip locked limit $1)," \
		"got as (update job set status = 'running', attempt = attempt + 1," \
		"leased_until = clock_timestamp() + interval '1 hour', leased_by = 'bench'" \
		"from picked where job.id = picked.id returning job.id, payload)" \
		"select count(*) as n, array_agg(id) as ids, array_agg(payload) as got from got \\gset"
}

script() {
	case $1:$2 in
		claim:1 | idle:1) say "$(claim '');" ;;
		queues:1) printf '%s\n' '\set q random(1, :queues)' "$(claim 'and queue = :q');" ;;
		life:1)
			printf '%s\n' 'insert into job (payload) values (:payload::jsonb) returning id;' \
				"$(claim '') \\gset" 'delete from job where id = :id;'
			;;
		drain:1)
			printf '%s\n' "$(claim_batch 1)"
			expect_batch 1
			say 'delete from job where id = any (:ids::bigint[]);'
			;;
		life:* | drain:*)
			if [[ $1 == life ]]; then
				remember_payloads "$2" jsonb
				say 'insert into job (payload) select unnest(:payloads::jsonb[]) returning id;'
			fi
			claim_batch "$2"
			expect_batch "$2"
			say 'delete from job where id = any (:ids::bigint[]);'
			;;
		*) return 2 ;;
	esac
}
