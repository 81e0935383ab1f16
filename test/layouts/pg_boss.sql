-- pg-boss's tables of schema version 40 (release 12.30), with its columns, keys, partitions and indexes. Not
-- here: what neither a claim nor its end touches (schedules, subscriptions, warnings, statistics).
create type job_state as enum ('created', 'retry', 'active', 'completed', 'cancelled', 'failed');

create table queue (
	name text primary key,
	policy text not null,
	retry_limit integer not null default 2,
	retry_delay integer not null default 0,
	retry_backoff boolean not null default false,
	dead_letter text references queue (name) check (dead_letter is distinct from name),
	partition boolean not null default false,
	table_name text not null
);

create table job (
	id uuid not null default gen_random_uuid(),
	name text not null,
	priority integer not null default 0,
	data jsonb,
	state job_state not null default 'created',
	retry_limit integer not null default 2,
	retry_count integer not null default 0,
	retry_delay integer not null default 0,
	retry_backoff boolean not null default false,
	retry_delay_max integer,
	expire_seconds integer not null default 900,
	deletion_seconds integer not null default 604800,
	singleton_key text,
	singleton_on timestamp,
	group_id text,
	group_tier text,
	start_after timestamptz not null default now(),
	created_on timestamptz not null default now(),
	started_on timestamptz,
	completed_on timestamptz,
	keep_until timestamptz not null default now() + interval '14 days',
	output jsonb,
	dead_letter text,
	policy text,
	heartbeat_on timestamptz,
	heartbeat_seconds integer,
	blocked boolean not null default false,
	blocking boolean not null default false,
	pending_dependencies integer not null default 0,
	source_name text,
	source_id uuid,
	source_created_on timestamptz,
	source_retry_count integer,
	primary key (name, id)
) partition by list (name);

-- The indexes and keys that each partition has, and those of the queue's policy; null: all policies.
create procedure make_partition(name text, policy text) language plpgsql as $$
declare
	command text;
begin
	execute format('create table %I (like job including defaults)', name);
	foreach command in array array[
		'alter table %I add primary key (name, id)',
		'alter table %I add foreign key (name) references queue on delete restrict deferrable initially deferred',
		'alter table %I add foreign key (dead_letter) references queue on delete restrict deferrable initially deferred',
		'create unique index on %I (name, singleton_on, coalesce(singleton_key, ''''))
			where state <> ''cancelled'' and singleton_on is not null',
		'create index on %I (name, priority desc, created_on, start_after) where state < ''active'' and not blocked',
		'create index on %I (name, group_id) where state = ''active'' and group_id is not null',
		'create index on %I (name, id) where blocking and state = ''completed''',
		case when coalesce(policy, 'short') = 'short' then
			'create unique index on %I (name, coalesce(singleton_key, ''''))
				where state = ''created'' and policy = ''short''' end,
		case when coalesce(policy, 'singleton') = 'singleton' then
			'create unique index on %I (name, coalesce(singleton_key, ''''))
				where state = ''active'' and policy = ''singleton''' end,
		case when coalesce(policy, 'stately') = 'stately' then
			'create unique index on %I (name, state, coalesce(singleton_key, ''''))
				where state <= ''active'' and policy = ''stately''' end,
		case when coalesce(policy, 'exclusive') = 'exclusive' then
			'create unique index on %I (name, coalesce(singleton_key, ''''))
				where state <= ''active'' and policy = ''exclusive''' end,
		case when coalesce(policy, 'key_strict_fifo') = 'key_strict_fifo' then
			'create unique index on %I (name, singleton_key)
				where state in (''active'', ''retry'', ''failed'') and policy = ''key_strict_fifo''' end,
		case when coalesce(policy, 'key_strict_fifo') = 'key_strict_fifo' then
			'create index on %I (name, singleton_key, state desc, created_on, id) include (start_after)
				where state < ''active'' and not blocked and policy = ''key_strict_fifo''' end,
		case when coalesce(policy, 'key_strict_fifo') = 'key_strict_fifo' then
			'alter table %I add check (not (policy = ''key_strict_fifo'' and singleton_key is null))' end
	] loop
		if command is not null then
			execute format(command, name);
		end if;
	end loop;
end $$;

-- Queues have their jobs in one table, unless they are created with a partition of their own.
call make_partition('job_common', null);
alter table job attach partition job_common default;

create procedure make_queue(name text, policy text default 'standard', partition boolean default false)
language plpgsql as $$
declare
	partition_name text := case when partition then 'j' || encode(sha224(name::bytea), 'hex') else 'job_common' end;
begin
	insert into queue (name, policy, partition, table_name) values (name, policy, partition, partition_name);
	if partition then
		call make_partition(partition_name, policy);
		execute format('alter table %I add constraint cjc check (name = %L)', partition_name, name);
		execute format('alter table job attach partition %I for values in (%L)', partition_name, name);
	end if;
end $$;
