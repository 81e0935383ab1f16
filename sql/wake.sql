-- However a row becomes claimable, the claims hear of it: in a managed queue, and in a
-- table that was attached with wake => true, the next pop has it, in its order; in a
-- table without the trigger the next pop has it if it would be empty otherwise. And as
-- long as nothing is claimable, pops of a queue with the trigger look at no table.
set client_min_messages = error;
create schema test_wake;
set search_path = test_wake, public;
set queue_ext.claim_path = direct;

select queue_create('jobs', lease => '1 hour');
create table woken (id integer primary key, rank integer not null default 100, state integer not null default 0);
create index on woken (rank, id) where state = 0;
select queue_attach('woken', 'woken', 'state = 0', 'rank, id', 'state = 1',
	on_release => 'state = 0', on_fail => 'state = 0', wake => true);
create table plain (like woken including all);
select queue_attach('plain', 'plain', 'state = 0', 'rank, id', 'state = 1',
	on_release => 'state = 0', on_fail => 'state = 0');

-- A managed queue's table has the trigger, an attached one if asked for.
select tgrelid::regclass as "table", tgname, tgenabled <> 'D' as enabled, (tgtype & 1) = 1 as each_row,
	(select string_agg(deptype::text, '') from pg_depend
		where classid = 'pg_trigger'::regclass and objid = t.oid and refclassid = 'pg_extension'::regclass) as depends
from pg_trigger as t
where tgrelid in ('jobs'::regclass, 'woken'::regclass, 'plain'::regclass)
order by tgrelid::regclass::text collate "C";

create function next(n integer default 1) returns bigint[] language sql volatile
return (select array_agg(id) from queue_pop('jobs', n));
create function next_woken(n integer default 1) returns integer[] language sql volatile
return (select array_agg(id) from queue_pop_rows(null::woken, max_jobs => n));
create function next_plain(n integer default 1) returns integer[] language sql volatile
return (select array_agg(id) from queue_pop_rows(null::plain, max_jobs => n));

-- 1. In front of a backlog that is longer than what is read at once.
select count(*) from queue_send_many('jobs', array_fill('"last"'::jsonb, array[900]), 100);
insert into woken select generate_series(1, 900);
insert into plain select generate_series(1, 900);
select next(), next_woken(), next_plain();

-- Sent.
select queue_send('jobs', '1', -1) as sent;
select next();
select queue_send_many('jobs', '{1,2}', -1) as sent;
select next(), next();
-- Given back.
select queue_release('jobs', 901, 1), queue_release_row('woken', '(1,100,1)'::woken);
select next(), next_woken();
select queue_release_many('jobs', '{901,902}', '{2,1}') as released;
select next(), next();
-- Failed.
select queue_fail('jobs', 901, 3, retry_in => '0');
select queue_fail('jobs', 902, 2, retry_in => '0'), queue_fail_row('woken', '(1,100,1)'::woken);
select next(2), next_woken();
-- Given up, and back.
update jobs set max_attempts = attempt where id = 901;
select queue_fail('jobs', 901, 4);
select next();
select queue_requeue('jobs', 901);
select next();
-- A transaction that is rolled back; others have claimed meanwhile in test/isolation.
begin;
select next(3), next_woken(3), next_plain(3);
rollback;
select next(3), next_woken(3), next_plain(3);
-- A savepoint, and one within it.
begin;
savepoint a;
select next(), next_woken(), next_plain();
savepoint b;
select next(), next_woken(), next_plain();
rollback to b;
select next(), next_woken(), next_plain();
rollback to a;
select next(), next_woken(), next_plain();
commit;
-- A block that fails.
do $$ begin
	perform next(), next_woken(), next_plain(), 1 / 0;
exception when division_by_zero then
	null;
end $$;
select next(), next_woken(), next_plain();
-- More than are put back one by one.
begin;
select array_length(next(600), 1), array_length(next_woken(600), 1), array_length(next_plain(600), 1);
rollback;
select next(3), next_woken(3);
-- Plain statements.
insert into jobs (payload, priority) values ('1', -1) returning id;
insert into woken values (1001, 0);
select next(), next_woken();
update jobs set leased_until = null where id = 904;
update woken set state = 0 where id = 1001;
select next(), next_woken();
copy jobs (payload, priority) from stdin;
"copied"	-1
\.
copy woken from stdin;
1002	0	0
\.
select next(), next_woken();
insert into woken values (1002) on conflict (id) do update set state = 0;
select next_woken();
-- Rows that get a better place, and one that gets a worse.
update jobs set priority = -1 where id = 700;
update woken set rank = -1 where id = 700;
select next(), next_woken();
begin;
insert into jobs (payload, priority) values ('1', -2), ('2', -1) returning id;
update jobs set priority = 101 where payload = '1' and priority = -2;
commit;
select next();
-- What its own transaction has written, before and after the commit.
begin;
insert into jobs (payload, priority) values ('1', -3), ('2', -3) returning id;
insert into woken values (1003, -3), (1004, -3);
select next(), next_woken();
savepoint a;
insert into jobs (payload, priority) values ('3', -4) returning id;
insert into woken values (1005, -4);
rollback to a;
commit;
select next(), next_woken();
begin;
insert into jobs (payload, priority) values ('1', -5) returning id;
insert into woken values (1006, -5);
rollback;
select next() = array[(select min(id) from jobs where leased_until is null and priority = 100)] as other;
select next_woken() = array[(select min(id) from woken where state = 0)] as other;

-- 2. In a queue of which nothing can be claimed.
truncate jobs, woken, plain restart identity;
-- Whether pops look at no table for now. Null if there is something to claim.
create function is_idle(source regclass) returns boolean language plpgsql as $$
declare
	claimed bigint;
	sweeps_before bigint;
	sweeps_after bigint;
begin
	-- A look may be due just now; the first pop after TRUNCATE begins to count anew.
	for try in 0 .. 100 loop
		select sweeps into sweeps_before from queue_claim_stats as s where s.source = is_idle.source;
		execute case when source = 'jobs'::regclass then 'select count(*) from queue_pop(''jobs'')'
			else format('select count(*) from queue_pop_rows(null::%s)', source) end into claimed;
		select sweeps into sweeps_after from queue_claim_stats as s where s.source = is_idle.source;
		if claimed > 0 then
			return null;
		elsif try > 0 and sweeps_before = sweeps_after then
			return true;
		end if;
	end loop;
	return false;
end $$;
select is_idle('jobs') as jobs, is_idle('woken') as woken, is_idle('plain') as plain;

-- Sent, given back, failed.
select queue_send('jobs', '1') as sent;
select next();
select is_idle('jobs');
select queue_release('jobs', 1, 1);
select next();
select is_idle('jobs');
select queue_fail('jobs', 1, 2, retry_in => '0');
select next();
select is_idle('jobs');
select queue_release_many('jobs', '{1}', '{3}');
select next();
select is_idle('jobs');
-- A rollback: of a claim, a completion, a deletion, and of what is claimable no more.
select queue_release('jobs', 1, 4);
begin;
select next();
select next();
rollback;
select next();
select is_idle('jobs');
select queue_release('jobs', 1, 5);
begin;
savepoint a;
delete from jobs;
select next();
rollback to a;
select next();
savepoint b;
select queue_complete('jobs', 1, 6);
select next();
rollback to b;
update jobs set leased_until = null;
savepoint c;
update jobs set run_at = 'infinity';
select next();
rollback to c;
select next();
select next();
commit;
select is_idle('jobs');
-- Plain statements.
update jobs set leased_until = null;
select next();
select is_idle('jobs');
insert into jobs (payload) values ('1');
select array_length(next(), 1) as got;
select is_idle('jobs');
copy jobs (payload) from stdin;
"copied"
"copied"
\.
select array_length(next(3), 1) as got;
select is_idle('jobs');
-- Many at once.
insert into jobs (payload) select '1' from generate_series(1, 3000);
select array_length(next(4000), 1) as got;
select is_idle('jobs');
update jobs set leased_until = null;
select array_length(next(4000), 1) as got;
select is_idle('jobs');
-- The same of attached tables.
insert into woken values (1);
insert into plain values (1);
select next_woken(), next_plain();
select is_idle('woken') as woken, is_idle('plain') as plain;
update woken set state = 0;
update plain set state = 0;
select next_woken(), next_plain();
select is_idle('woken') as woken;
copy woken (id) from stdin;
2
\.
copy plain (id) from stdin;
2
\.
select next_woken(), next_plain();
select is_idle('woken') as woken;
select queue_release_row('woken', '(1,100,1)'::woken), queue_release_row('plain', '(1,100,1)'::plain);
select next_woken(), next_plain();
select is_idle('woken') as woken;
select queue_fail_row('woken', '(1,100,1)'::woken), queue_fail_row('plain', '(1,100,1)'::plain);
begin;
select next_woken(), next_plain();
select next_woken(), next_plain();
rollback;
select next_woken(), next_plain();
select is_idle('woken') as woken;
begin;
update woken set state = 0 where id = 1;
savepoint a;
update woken set state = 1 where id = 1;
select next_woken();
rollback to a;
select next_woken();
rollback;
select next_woken();
select is_idle('woken') as woken;
-- In a savepoint of a transaction that has only completed a job before.
insert into woken values (4), (5);
select next_woken(2);
select is_idle('woken') as woken;
begin;
select queue_complete_row('woken', '(4,100,1)'::woken);
savepoint a;
update woken set state = 0 where id = 5;
release a;
commit;
select next_woken();
-- By a statement on the table that it inherits from, which fires its triggers for rows, and not
-- those for statements, which 0.1 made.
create table base (id integer, state integer not null default 0);
create table leaf (primary key (id)) inherits (base);
insert into leaf values (1);
select queue_attach('leaf', 'leaf', 'state = 0', 'id', 'state = 1', wake => true);
select id from queue_pop_rows(null::leaf, max_jobs => 2);
select count(*) from queue_pop_rows(null::leaf);
select is_idle('leaf') as leaf;
update base set state = 0;
select id from queue_pop_rows(null::leaf, max_jobs => 2);
drop trigger queue_ext_wake on leaf;
create trigger queue_ext_wake after insert or update on leaf for each statement execute function queue_wake();
alter table leaf enable always trigger queue_ext_wake;
select count(*) from queue_pop_rows(null::leaf);
select count(*) from queue_pop_rows(null::leaf);
select is_idle('leaf') as leaf;
update base set state = 0;
select id from queue_pop_rows(null::leaf, max_jobs => 2);
drop trigger queue_ext_wake on leaf;
-- An event that the trigger does not hear of has no effect on what is claimable.
delete from woken where id = 1;
truncate woken;
select is_idle('woken') as woken;

-- 3. By itself, when its time has come: every pop that begins from then on has it.
create function when_due(source regclass, wanted bigint, due timestamptz) returns text language plpgsql as $$
declare
	began timestamptz;
	got bigint;
begin
	loop
		began := clock_timestamp();
		execute case when source = 'jobs'::regclass then 'select id from queue_pop(''jobs'')'
			else format('select id from queue_pop_rows(null::%s)', source) end into got;
		if got = wanted then
			return case when clock_timestamp() < due then 'too early' else 'in time' end;
		elsif began >= due then
			return format('%s instead', coalesce(got::text, 'nothing'));
		end if;
		perform pg_sleep(0.002);
	end loop;
end $$;
-- run_at, a lease, a retry: of a queue that is idle until then.
truncate jobs restart identity;
select queue_send('jobs', '1', run_at => clock_timestamp() + interval '30 ms');
select when_due('jobs', id, run_at) from jobs;
update jobs set leased_until = clock_timestamp() + interval '30 ms';
select when_due('jobs', id, leased_until) from jobs;
select queue_extend('jobs', 1, 2, '30 ms');
select when_due('jobs', id, leased_until) from jobs;
select queue_fail('jobs', 1, 3, retry_in => '30 ms');
select when_due('jobs', id, run_at) from jobs;
select queue_release('jobs', 1, 4, clock_timestamp() + interval '30 ms');
select when_due('jobs', id, run_at) from jobs;
select queue_release('jobs', 1, 5);
select count(*) from queue_pop('jobs', lease => '30 ms');
select when_due('jobs', id, leased_until) from jobs;
update jobs set leased_until = null, run_at = clock_timestamp() + interval '30 ms';
select when_due('jobs', id, run_at) from jobs;
begin;
select queue_complete('jobs', 1, 8);
rollback;
update jobs set run_at = clock_timestamp() + interval '60 ms', leased_until = clock_timestamp() + interval '30 ms';
select when_due('jobs', id, run_at) from jobs;
-- The same with others behind it.
select count(*) from queue_send_many('jobs', array_fill('"last"'::jsonb, array[900]), 100);
select queue_release('jobs', 1, 9, clock_timestamp() + interval '30 ms');
select when_due('jobs', id, run_at) from jobs where id = 1;
select queue_extend('jobs', 1, 10, '30 ms');
select when_due('jobs', id, leased_until) from jobs where id = 1;
-- Of an attached table whose pending says when.
create table timed (id integer primary key, due timestamptz not null default '-infinity', taken timestamptz);
create index on timed (id) where taken is null or due is not null;
select queue_attach('timed', 'timed', 'due <= call_time and (taken is null or taken < call_time - lease)', 'id',
	'taken = call_time', lease => '30 ms', wake => true);
insert into timed values (1, clock_timestamp() + interval '30 ms');
select when_due('timed', id, due) from timed;
select when_due('timed', id, taken + '30 ms') from timed;

-- 4. What an empty pop costs: no read of a table or an index, no number, no WAL.
create function empty_pops(source regclass, pop text, n integer) returns text language plpgsql as $$
declare
	before record;
	line text;
	writes boolean;
begin
	execute format('select %s', pop);
	for try in 1 .. 1000 loop
		select s.sweeps, s.fills, pg_stat_get_xact_numscans(s.source) as scans,
				(select sum(pg_stat_get_xact_numscans(indexrelid)) from pg_index where indrelid = s.source) as index_scans
			into before from queue_claim_stats as s where s.source = empty_pops.source;
		writes := false;
		for line in execute format('explain (analyze, wal, costs off, timing off, summary off)
			select %s from generate_series(1, %s)', pop, n) loop
			writes := writes or line like '%WAL:%';
		end loop;
		-- No look at the head was due meanwhile.
		continue when (select s.sweeps from queue_claim_stats as s where s.source = empty_pops.source) <> before.sweeps;
		return (select format('%s scans, %s index scans, %s fills, WAL %s, number %s',
				pg_stat_get_xact_numscans(s.source) - before.scans,
				(select sum(pg_stat_get_xact_numscans(indexrelid)) from pg_index where indrelid = s.source) - before.index_scans,
				s.fills - before.fills, writes, pg_current_xact_id_if_assigned())
			from queue_claim_stats as s where s.source = empty_pops.source);
	end loop;
	return 'each time a look at the head';
end $$;
truncate jobs, woken, plain;
-- With rows that are not claimable.
insert into jobs (payload, run_at, dead_at) values ('1', 'infinity', null), ('1', now(), now());
insert into woken values (1, 1, 1);
select empty_pops('jobs', 'queue_pop(''jobs'')', 20);
select empty_pops('woken', 'queue_pop_rows(null::woken)', 20);
-- Without the trigger, as long as nothing is written in the server.
select empty_pops('plain', 'queue_pop_rows(null::plain)', 20);
-- For as long as sweeps are due at their interval: there are no more of them than that,
-- which is a tenth of a second at least.
do $$
declare
	began timestamptz := clock_timestamp();
	sweeps_before bigint := (select sweeps from queue_claim_stats where source = 'jobs'::regclass);
	grown bigint;
begin
	for i in 1 .. 1000 loop
		assert not exists (select from queue_pop('jobs')), 'there was one';
	end loop;
	grown := (select sweeps from queue_claim_stats where source = 'jobs'::regclass) - sweeps_before;
	assert grown <= 2 + 10 * extract(epoch from clock_timestamp() - began), format('%s sweeps', grown);
	assert pg_current_xact_id_if_assigned() is null, 'it has a number';
end $$;
-- A trigger that does not fire, or not for all, is none: what is written is found nevertheless.
alter table woken disable trigger queue_ext_wake;
select is_idle('woken');
insert into woken values (2);
select next_woken();
alter table woken enable always trigger queue_ext_wake;
select is_idle('woken');

-- 5. The trigger goes with the last queue of its table.
select queue_attach('again', 'woken', 'state = 1', 'rank, id', 'state = 2');
select queue_detach('woken');
select count(*) from pg_trigger where tgrelid = 'woken'::regclass;
select queue_detach('again');
select count(*) from pg_trigger where tgrelid = 'woken'::regclass;
select queue_attach('plain2', 'plain', 'state = 1', 'rank, id', 'state = 2', wake => true);
select count(*) from pg_trigger where tgrelid = 'plain'::regclass;
select queue_attach('plain3', 'plain', 'state = 2', 'rank, id', 'state = 3', wake => true);
select count(*) from pg_trigger where tgrelid = 'plain'::regclass;
select queue_detach('plain3'), queue_detach('plain2');
select is_idle('plain');

-- Bad input.
\set VERBOSITY sqlstate
select queue_wake();
select queue_attach('bad', 'plain', 'state = 4', 'id', 'state = 5', wake => null);
create trigger before before insert on plain for each row execute function queue_wake();
insert into plain values (77);
drop trigger before on plain;
create trigger early before truncate on plain execute function queue_wake();
truncate plain;
drop trigger early on plain;
\set VERBOSITY default

-- The trigger does not keep the extension from going, nor the table from staying.
drop function next, next_woken, next_plain;
drop extension queue_ext;
select count(*) from pg_trigger where tgrelid in ('jobs'::regclass, 'plain'::regclass);
select count(*) from jobs;
insert into jobs (payload) values ('1');
create extension queue_ext schema public;
drop schema test_wake cascade;
