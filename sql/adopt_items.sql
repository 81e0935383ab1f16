-- Items of which some are available, found by a partial index: taken by the flag, and
-- by advisory locks with the flag left as it is.
create schema test_adopt_items;
set search_path = test_adopt_items, public;
create table items (
	id serial primary key,
	available boolean default true not null,
	payload text
);
create index items_lookup_index on items (id) where available;
insert into items (payload) select 'item ' || n from generate_series(1, 60) as n;
update items set available = false where id in (2, 4);
-- What this session has locked: the lock of pg_advisory_lock('items'::regclass::integer, id).
create view locked as
select objid as id from pg_locks
where locktype = 'advisory' and pid = pg_backend_pid() and mode = 'ExclusiveLock' and granted
	and database = (select oid from pg_database where datname = current_database())
	and classid = 'items'::regclass and objsubid = 2;

-- The index is there: no warning, in either way.
select queue_attach(
	'flagged', 'items', pending => 'available', order_by => 'id', on_claim => 'available = false',
	on_release => 'available = true'
);
select queue_attach('held', 'items', pending => 'available', order_by => 'id', claim_mode => 'session');

-- By the flag. Done is deleted.
create temp table taken (job items);
insert into taken select i from queue_pop_rows(null::items, 'flagged', 3) as i;
select job from taken;
select count(*) as locks from locked;
select id, available from items where id < 7 order by id;
select queue_complete_row('flagged', job) from taken where (job).id = 1;
select queue_release_row('flagged', job) from taken where (job).id = 3;
select queue_complete_row('flagged', job) as gone from taken where (job).id = 1;
select queue_release_row('flagged', job) as not_ours from taken where (job).id = 3;
select id, available from items where id < 7 order by id;
-- In one statement, and with nothing else said.
select id, payload from queue_pop_rows(null::items, 'flagged') as i where queue_complete_row('flagged', i);

-- By the lock.
truncate taken;
insert into taken select i from queue_pop_rows(null::items, 'held', 2) as i;
select job from taken;
select id, available from items where id between 6 and 7 order by id;
select id from locked order by id;
-- Taken once: the session's next claims pass them by, however many there are.
insert into taken select i from queue_pop_rows(null::items, 'held', 38) as i;
select count(*), count(distinct job) as different, min((job).id), max((job).id) from taken;
select count(*) as locks, count(distinct id) as different from locked;
select id from queue_pop_rows(null::items, 'held');
-- Finished: the item is gone and its lock with it, at once if nothing else is to
-- commit.
select queue_complete_row('held', job) from taken where (job).id = 6;
select count(*) as locks, count(*) filter (where id = 6) as of_the_done from locked;
begin;
select queue_complete_row('held', job) from taken where (job).id = 7;
select count(*) filter (where id = 7) as until_the_commit from locked;
select queue_complete_row('held', job) as twice from taken where (job).id = 7;
commit;
select count(*) filter (where id = 7) as after_the_commit from locked;
-- A rollback leaves it held.
begin;
select queue_complete_row('held', job) from taken where (job).id = 8;
rollback;
select id from locked where id = 8;
select queue_complete_row('held', job) from taken where (job).id = 8;
-- Given back without a word: the next claim gets it.
select queue_release_row('held', job) from taken where (job).id = 9;
select queue_release_row('held', job) as again from taken where (job).id = 9;
select count(*) filter (where id = 9) as locks from locked;
select id from queue_pop_rows(null::items, 'held');
select queue_fail_row('held', job, 'dropped it') from taken where (job).id = 9;
-- A rollback of the claim gives it back, and to the savepoint only what came after.
begin;
select id from queue_pop_rows(null::items, 'held');
savepoint s;
select id from queue_pop_rows(null::items, 'held', 2);
rollback to s;
select count(*) filter (where id = 9) as first, count(*) filter (where id > 46) as others from locked;
rollback;
select count(*) filter (where id = 9) as first, count(*) filter (where id > 46) as others from locked;
-- An item that this session locked by hand is passed by, and stays locked by hand.
select pg_advisory_lock('items'::regclass::integer, 9);
select id from queue_pop_rows(null::items, 'held');
select pg_advisory_unlock('items'::regclass::integer, 9) as once, pg_advisory_unlock('items'::regclass::integer, 9) as twice;
-- The lock of an item that is held is one lock.
select pg_advisory_unlock('items'::regclass::integer, 10) as once, pg_advisory_unlock('items'::regclass::integer, 10) as twice;
-- Without it the item is not ours any more, whatever we believe.
select queue_complete_row('held', job) as let_go from taken where (job).id = 10;
-- (Candidates that the direct path has passed by it finds again by its next sweep.)
set queue_ext.claim_path = portable;
select id from queue_pop_rows(null::items, 'held', 2) order by id;
-- Letting go of everything.
select count(*) > 30 as many from locked;
discard all;
set queue_ext.claim_path = portable;
set search_path = test_adopt_items, public;
select count(*) as none from locked;
select id from queue_pop_rows(null::items, 'held', 3);
select pg_advisory_unlock_all();
select id from queue_pop_rows(null::items, 'held', 3);
-- The flag wins over a lock: what is not available is not handed out.
update items set available = false where id = 12;
select id from queue_pop_rows(null::items, 'held', 2);
reset queue_ext.claim_path;
-- To the last one.
select count(*) = (select count(*) - 5 from items where available) as all_of_them from queue_pop_rows(null::items, 'held', 10000);
select count(*) as none_left from queue_pop_rows(null::items, 'held', 10000);
select (select count(*) from locked) = (select count(*) from items where available) as all_locked;

set client_min_messages = warning;
select pg_advisory_unlock_all();
drop schema test_adopt_items cascade;
