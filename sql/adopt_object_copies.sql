-- Files that have to be copied to two more places, in the table that an uploader
-- has: a worker says with a time in microseconds that it is busy with a file. Of
-- many rows few are pending, and two partial indexes find them, one for each place.
create schema test_adopt_object_copies;
set search_path = test_adopt_object_copies, public;
-- A day has 24 hours.
set timezone = 'UTC';
create table object_copies (
	object_key text primary key,
	b2 bigint,
	wasabi bigint,
	scw bigint,
	lock bigint
);
-- The test says when statistics are taken.
alter table object_copies set (autovacuum_enabled = off);
create index on object_copies (wasabi) where wasabi is null;
create index on object_copies (scw) where scw is null;

create function microseconds(moment timestamptz) returns bigint
language sql immutable return (extract(epoch from moment) * 1000000)::bigint;

-- Both ways to claim, on one table. The second leaves "lock" alone. Two indexes
-- together give no order, which is worth a warning.
select queue_attach(
	'copies', 'object_copies',
	pending => '(wasabi is null or scw is null)
		and (lock is null or lock < microseconds(call_time - interval ''1 day''))',
	on_claim => 'lock = microseconds(call_time)',
	on_complete => 'wasabi = coalesce(wasabi, microseconds(call_time)),
		scw = coalesce(scw, microseconds(call_time)), lock = null',
	on_release => 'lock = null',
	on_fail => 'lock = microseconds(retry_at - interval ''1 day'')',
	on_extend => 'lock = microseconds(call_time)'
);
select queue_attach(
	'held', 'object_copies',
	pending => 'wasabi is null or scw is null',
	on_complete => 'wasabi = coalesce(wasabi, 7), scw = coalesce(scw, 7)',
	claim_mode => 'transaction'
);

-- Twenty claims of one row and one of ten, which read few rows, whatever the others
-- are like.
create function claim_many(queue text, out popped bigint, out sequential_scans bigint, out few_rows boolean)
language plpgsql as $$
declare
	before record;
	after record;
begin
	perform queue_pop_rows(null::object_copies, queue);
	select seq_scan, seq_tup_read + idx_tup_fetch as rows into before
	from pg_stat_xact_user_tables where relid = 'object_copies'::regclass;
	popped := 0;
	for i in 1..20 loop
		popped := popped + (select count(*) from queue_pop_rows(null::object_copies, queue));
	end loop;
	popped := popped + (select count(*) from queue_pop_rows(null::object_copies, queue, 10));
	select seq_scan, seq_tup_read + idx_tup_fetch as rows into after
	from pg_stat_xact_user_tables where relid = 'object_copies'::regclass;
	sequential_scans := after.seq_scan - before.seq_scan;
	few_rows := after.rows - before.rows < 1500;
end $$;
create procedure claim_all_ways(situation text) language plpgsql as $$
declare
	queue text;
	found record;
begin
	foreach queue in array '{copies,held}'::text[] loop
		begin
			found := claim_many(queue);
			raise exception 'undo' using errcode = 'UNDO1';
		exception when sqlstate 'UNDO1' then
			raise notice '%, %: popped %, sequential scans %, few rows %', situation, queue,
				found.popped, found.sequential_scans, found.few_rows;
		end;
	end loop;
end $$;

call claim_all_ways('empty');
insert into object_copies (object_key, b2) select n, 1 from generate_series(1, 12000) as n;
call claim_all_ways('all pending, no statistics');
analyze object_copies;
call claim_all_ways('all pending, analysed');
update object_copies set wasabi = 1, scw = 1;
call claim_all_ways('none pending, statistics of when all were');
vacuum object_copies;
analyze object_copies;
call claim_all_ways('none pending, analysed');
update object_copies set wasabi = null where object_key::int % 41 = 0;
update object_copies set scw = null where object_key::int % 61 = 0;
call claim_all_ways('few pending, statistics of when none were');
analyze object_copies;
call claim_all_ways('few pending, analysed');
-- A plan made with every setting against us.
set enable_indexscan = off;
set enable_bitmapscan = off;
alter table object_copies set (fillfactor = 90);
call claim_all_ways('few pending, planned with odd settings');
reset enable_indexscan;
reset enable_bitmapscan;

-- A worker that could make only one copy of two writes that one and gives the file
-- back. Its receipt is still good after its own update.
create temp table receipt (job object_copies);
select object_key as both from object_copies where wasabi is null and scw is null order by object_key limit 1 \gset
update object_copies set lock = microseconds(now()) where (wasabi is null or scw is null) and object_key <> :'both';
insert into receipt select j from queue_pop_rows(null::object_copies, 'copies') as j;
select
	(job).object_key = :'both' as the_one,
	(job).wasabi,
	(job).scw,
	microseconds(clock_timestamp()) - (job).lock between 0 and 600 * 1000000 as lock_is_now
from receipt;
select count(*) as while_it_is_locked from queue_pop_rows(null::object_copies, 'copies', 10);
update object_copies set wasabi = 3 where object_key = :'both';
select queue_release_row('copies', job) from receipt;
select wasabi, scw, lock from object_copies where object_key = :'both';
-- The receipt is used up.
select queue_release_row('copies', job) as again, queue_complete_row('copies', job) as after_all from receipt;
-- Another makes the rest.
update receipt set job = j from queue_pop_rows(null::object_copies, 'copies') as j;
select (job).object_key = :'both' as the_one, (job).wasabi, (job).scw from receipt;
select queue_complete_row('copies', job) from receipt;
select wasabi, scw > 3 as scw, lock from object_copies where object_key = :'both';
select count(*) as done_is_done from queue_pop_rows(null::object_copies, 'copies', 10);

-- A lock of over a day ago is nobody's, with nobody to clean up. One of just under
-- a day counts.
update object_copies set lock = microseconds(now() - interval '23 hours 59 minutes')
where object_key in (select object_key from object_copies where lock is not null limit 5);
select count(*) as not_yet from queue_pop_rows(null::object_copies, 'copies', 10);
update object_copies set lock = microseconds(now() - interval '24 hours 1 second')
where object_key in (select object_key from object_copies where lock < microseconds(now() - interval '1 hour'));
create temp table stale as
select o as job from object_copies as o where lock < microseconds(now() - interval '1 hour');
truncate receipt;
insert into receipt select j from queue_pop_rows(null::object_copies, 'copies', 10) as j;
select count(*) as stale, bool_and((job).lock > microseconds(now() - interval '1 hour')) as locked_anew from receipt;
-- Whoever had them before is told so, and has changed nothing.
select count(*) as had_them, count(*) filter (where queue_complete_row('copies', job)) as have_them from stale;
select count(*) as untouched from receipt join object_copies as o on o = job;
-- A failed one is back when its time comes, and a longer lock is a new receipt.
create temp table chosen as select job from receipt limit 1;
select queue_fail_row('copies', job, 'no route', '1 hour') from chosen;
select
	o.lock - microseconds(now() - interval '1 day') between 3000 * 1000000::bigint and 3600 * 1000000::bigint as in_an_hour
from object_copies as o, chosen where o.object_key = (job).object_key;
delete from receipt where job = (select job from chosen);
truncate chosen;
insert into chosen select job from receipt limit 1;
create temp table extended as select queue_extend_row('copies', job) as job from chosen;
select queue_complete_row('copies', c.job) as old, queue_complete_row('copies', e.job) as new from chosen as c, extended as e;
-- In one statement.
update object_copies set lock = null where wasabi is null or scw is null;
select count(*) filter (where queue_complete_row('copies', j)) as done
from queue_pop_rows(null::object_copies, 'copies', 10) as j;

-- The long transaction: nothing is written until the work is done.
truncate receipt;
begin;
insert into receipt select j from queue_pop_rows(null::object_copies, 'held', 2) as j;
select count(*) as unchanged, count(*) filter (where o.xmax = '0') as unlocked
from receipt join object_copies as o on o = job;
select count(distinct (j).object_key) as others
from queue_pop_rows(null::object_copies, 'held', 3) as j
where (j).object_key not in (select (job).object_key from receipt);
-- Half the work: one copy is written, the row is let go, and is passed by in this
-- transaction.
create temp table half as select job from receipt limit 1;
update object_copies set wasabi = 5 where object_key = (select (job).object_key from half);
select queue_release_row('held', job) from half;
select count(*) filter (where queue_complete_row('held', job)) as done from receipt where job <> (select job from half);
commit;
select count(*) filter (where wasabi = 7 or scw = 7) as done, count(lock) as locks
from object_copies where object_key in (select (job).object_key from receipt);

-- The index that the warning asked for. The table is searched in its order, the
-- warning is gone, and still no claim reads the table.
create index on test_adopt_object_copies.object_copies (object_key) where wasabi is null or scw is null;
select queue_detach('copies'), queue_detach('held');
select queue_attach(
	'copies', 'object_copies',
	pending => '(wasabi is null or scw is null)
		and (lock is null or lock < microseconds(call_time - interval ''1 day''))',
	order_by => 'object_key',
	on_claim => 'lock = microseconds(call_time)'
);
select queue_attach(
	'held', 'object_copies', pending => 'wasabi is null or scw is null', order_by => 'object_key',
	claim_mode => 'transaction'
);
call claim_all_ways('few pending, one index');
update object_copies set wasabi = 1, scw = 1 where wasabi is null or scw is null;
call claim_all_ways('none pending, one index');
vacuum analyze object_copies;
call claim_all_ways('none pending, one index, analysed');
update object_copies set wasabi = null, scw = null;
vacuum object_copies;
call claim_all_ways('all pending, one index');
analyze object_copies;
call claim_all_ways('all pending, one index, analysed');

set client_min_messages = warning;
drop schema test_adopt_object_copies cascade;
