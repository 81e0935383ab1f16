-- The views of the extension, over all shards. Counts are sums. They raise 08001 while a shard
-- cannot be reached: a sum without it would be wrong.

create or replace view @schema@.queues as
select distinct on (queue)
	queue, pg_catalog.to_regclass(source) as source, managed, claim_mode, paused, lease, max_attempts, backoff_base,
	backoff_cap, pg_catalog.to_regclass(archive) as archive, pending, order_by, on_claim, on_complete, on_release, on_fail,
	on_extend, search_path, created_at, ready_at, claimed_at, archive_keep, dead_keep,
	pg_catalog.to_regclass(dead_queue) as dead_queue, on_expire
from queue_proxy.queues()
order by queue;

create or replace view @schema@.queue_stats as
select
	queue,
	pg_catalog.to_regclass(min(source)) as source,
	min(since) as since,
	sum(sent)::bigint as sent,
	sum(claimed)::bigint as claimed,
	sum(completed)::bigint as completed,
	sum(failed)::bigint as failed,
	sum(retried)::bigint as retried,
	sum(dead)::bigint as dead,
	sum(moved)::bigint as moved,
	sum(unstarted)::bigint as unstarted,
	sum(released)::bigint as released,
	sum(cancelled)::bigint as cancelled,
	sum(expired)::bigint as expired,
	sum(duplicates)::bigint as duplicates,
	sum(waits)::bigint as waits,
	sum(waiting)::integer as waiting,
	sum(ready)::bigint as ready,
	bool_and(ready_exact) as ready_exact,
	sum(scheduled)::bigint as scheduled,
	sum(leased)::bigint as leased,
	min(oldest_ready_at) as oldest_ready_at,
	bool_and(oldest_exact) as oldest_exact
from queue_proxy.queue_stats()
group by queue;

create or replace view @schema@.queue_wait_histogram as
select queue, pg_catalog.to_regclass(min(source)) as source, le, sum(jobs)::bigint as jobs, sum(total_seconds) as total_seconds
from queue_proxy.queue_wait_histogram()
group by queue, le;

create or replace view @schema@.queue_run_histogram as
select queue, pg_catalog.to_regclass(min(source)) as source, le, sum(jobs)::bigint as jobs, sum(total_seconds) as total_seconds
from queue_proxy.queue_run_histogram()
group by queue, le;

create or replace view @schema@.queue_schedules as
select * from queue_proxy.queue_schedules();

create or replace view @schema@.held_locks as
select * from queue_proxy.held_locks();

create or replace view @schema@.throttled_resource as
select * from queue_proxy.throttled_resource();

grant select on @schema@.queues, @schema@.queue_stats, @schema@.queue_wait_histogram, @schema@.queue_run_histogram,
	@schema@.queue_schedules, @schema@.held_locks, @schema@.throttled_resource to public;

create or replace view queue_proxy.shards as
select
	s.shard,
	s.name,
	coalesce(pg_catalog.pg_sequence_last_value(s.circuit), 0) >= 0 as reachable,
	(select count(*) from queue_proxy.bucket b where b.shard = s.shard) as buckets
from queue_proxy.shard s;

grant select on queue_proxy.shards to public;
comment on view queue_proxy.shards is
	'the shards: whether the last call reached it, and how many of the 1,024 buckets of keys it has';
