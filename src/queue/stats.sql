create function @extschema@.queue_stats_counters(
	out source oid,
	out name text,
	out since timestamptz,
	out sent bigint,
	out claimed bigint,
	out completed bigint,
	out failed bigint,
	out retried bigint,
	out dead bigint,
	out moved bigint,
	out unstarted bigint,
	out released bigint,
	out cancelled bigint,
	out expired bigint,
	out duplicates bigint,
	out waits bigint,
	out waiting integer,
	out ready bigint,
	out ready_exact boolean,
	out scheduled bigint,
	out leased bigint,
	out oldest_ready_at timestamptz,
	out oldest_exact boolean
) returns setof record
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_stats_counters';

comment on function @extschema@.queue_stats_counters() is
	'what was counted of each queue of this database; name is null for the managed queue of the table';

create function @extschema@.queue_stats_buckets(
	of_runs boolean,
	out source oid,
	out name text,
	out le double precision,
	out jobs bigint,
	out total_seconds double precision
) returns setof record
language c volatile parallel unsafe rows 1000
as 'MODULE_PATHNAME', 'queue_ext_queue_stats_buckets';

comment on function @extschema@.queue_stats_buckets(boolean) is
	'how long jobs ran, or how long they were ready, of each queue of this database, by buckets';

create view @extschema@.queue_stats as
select
	pg_catalog.format('%I.%I', n.nspname, d.name) as queue,
	d.source,
	s.since,
	s.sent,
	s.claimed,
	s.completed,
	s.failed,
	s.retried,
	s.dead,
	s.moved,
	s.unstarted,
	s.released,
	s.cancelled,
	s.expired,
	s.duplicates,
	s.waits,
	s.waiting,
	s.ready,
	s.ready_exact,
	s.scheduled,
	s.leased,
	s.oldest_ready_at,
	s.oldest_exact
from @extschema@.queue_definition d
join pg_catalog.pg_class c on c.oid operator(pg_catalog.=) d.source
join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
left join @extschema@.queue_stats_counters() s
	on s.source operator(pg_catalog.=) d.source
	and case when d.managed then s.name is null else s.name operator(pg_catalog.=) d.name end;

revoke all on @extschema@.queue_stats from public;
grant select on @extschema@.queue_stats to public;

comment on view @extschema@.queue_stats is
	'what became of the jobs of each queue since then, and since when the oldest ready job waits; counted when transactions commit, so that no table is read';

-- The names are made once for each queue, not for each bucket.
create view @extschema@.queue_wait_histogram as
select
	q.queue,
	q.source,
	s.le,
	s.jobs,
	s.total_seconds
from (
	select pg_catalog.format('%I.%I', n.nspname, d.name) as queue, d.source, d.managed, d.name
	from @extschema@.queue_definition d
	join pg_catalog.pg_class c on c.oid operator(pg_catalog.=) d.source
	join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
	offset 0
) q
join @extschema@.queue_stats_buckets(false) s
	on s.source operator(pg_catalog.=) q.source
	and case when q.managed then s.name is null else s.name operator(pg_catalog.=) q.name end;

revoke all on @extschema@.queue_wait_histogram from public;
grant select on @extschema@.queue_wait_histogram to public;

comment on view @extschema@.queue_wait_histogram is
	'how long jobs were ready before they were claimed: jobs counts those that took le seconds at most';

create view @extschema@.queue_run_histogram as
select
	q.queue,
	q.source,
	s.le,
	s.jobs,
	s.total_seconds
from (
	select pg_catalog.format('%I.%I', n.nspname, d.name) as queue, d.source, d.managed, d.name
	from @extschema@.queue_definition d
	join pg_catalog.pg_class c on c.oid operator(pg_catalog.=) d.source
	join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
	offset 0
) q
join @extschema@.queue_stats_buckets(true) s
	on s.source operator(pg_catalog.=) q.source
	and case when q.managed then s.name is null else s.name operator(pg_catalog.=) q.name end;

revoke all on @extschema@.queue_run_histogram from public;
grant select on @extschema@.queue_run_histogram to public;

comment on view @extschema@.queue_run_histogram is
	'how long claimed jobs took until they were completed or failed: jobs counts those that took le seconds at most';

create function @extschema@.queue_stats_reset(queue text default null) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_stats_reset';

revoke all on function @extschema@.queue_stats_reset(text) from public;

comment on function @extschema@.queue_stats_reset(text) is
	'has the statistics of the queue, or of all queues of this database, begin anew';
