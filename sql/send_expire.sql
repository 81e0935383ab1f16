-- expires_at, expires_in: a job that nobody has started by then is not handed out, and goes where the queue says. A claim passes it
-- by, and leaves it as it is: what ends it are the looks, which a session that claims has once a second, but not at the level
-- SERIALIZABLE, and queue_maintain. A session that is new looks at once.
set client_min_messages = warning;
set time zone 'UTC';
create schema test_expire;
set search_path = test_expire, public;
create function error_of(command text) returns text language plpgsql as $$
declare
	detail text;
	hint text;
begin
	execute command;
	return 'none';
exception when others then
	get stacked diagnostics detail = pg_exception_detail, hint = pg_exception_hint;
	return concat_ws(' | ', sqlstate, sqlerrm, nullif(detail, ''), nullif(hint, ''));
end $$;

-- What the queue says.
select queue_create('codes', lease => '1 hour', on_expire => 'dead');
select queue_create('kept', lease => '1 hour', archive => true, on_expire => 'archive');
select queue_create('gone', lease => '1 hour', on_expire => 'delete');
select queue_create('plain', lease => '1 hour', on_expire => '');
select queue, on_expire, obj_description(source) from queues where source::regclass::text in ('codes', 'kept', 'gone', 'plain') order by 1;
create view indexes as select tablename, regexp_replace(indexdef, '.* USING ', '') as index from pg_indexes
	where schemaname = 'test_expire' and indexdef ~ 'expires_at' order by 1, 2;
table indexes;
select error_of($$select queue_create('bad', on_expire => 'retry')$$);
select error_of($$select queue_create('bad', on_expire => 'archive')$$);
select error_of($$select queue_alter('codes', on_expire => 'archive')$$);
select error_of($$select queue_alter('kept', archive => false)$$);
select error_of($$select queue_alter('codes', on_expire => 'none')$$);
create table things (id integer primary key, taken boolean not null default false);
create index on things (id) where not taken;
select queue_attach('things', 'things', 'not taken', 'id', 'taken = true');
select error_of($$select queue_alter('things', on_expire => 'dead')$$);
select queue_alter('plain', on_expire => 'dead');
select queue_alter('plain', lease => '2 hours');
select queue_alter('plain', on_expire => null);
select on_expire, obj_description(source) from queues where source = 'plain'::regclass;
table indexes;
select queue_alter('plain', on_expire => '');
select on_expire, obj_description(source) from queues where source = 'plain'::regclass;
select queue_alter('plain', archive => true, on_expire => 'archive');
select queue_alter('plain', archive => false, on_expire => 'delete');
select queue_alter('plain', on_expire => '');
table indexes;

-- What a send says. An interval begins with the call, or where the job can be claimed later, then.
select error_of($$select queue_send('plain', '1', expires_in => '1 hour')$$);
select error_of($$select queue_send('plain', '1', expires_at => now())$$);
select error_of($$select * from queue_send_many('plain', '{1}', expires_in => '1 hour')$$);
select error_of($$select queue_unique_insert('plain', '1', expires_in => '1 hour')$$);
select error_of($$select queue_unique_insert_many('plain', '{1}', expires_at => now())$$);
select error_of($$select queue_send('codes', '1', expires_at => now(), expires_in => '1 hour')$$);
select error_of($$select queue_send('codes', '1', expires_in => '0')$$);
select error_of($$select queue_send('codes', '1', expires_in => '-1 s')$$);
select error_of($$select queue_send('codes', '1', expires_in => '300000 years')$$);
select error_of($$select queue_send('codes', '1', run_at => '294276-12-31', expires_in => '1 day')$$);
select count(*) from codes;
select queue_send('codes', '1', expires_in => '1 hour');
select queue_send('codes', '2', run_at => '2500-01-01', expires_in => '1 month 1 day');
select queue_send('codes', '3', run_at => '2020-01-01', expires_in => '1 hour');
select queue_send('codes', '4', expires_at => '2500-01-01', kind => 'k');
select queue_send('codes', '5', expires_at => 'infinity');
select queue_send('codes', '6', run_at => 'infinity', expires_in => '1 hour');
select queue_send('codes', '7');
select queue_send_many('codes', '{8,9}', expires_at => '2500-01-01');
select queue_send_many('codes', '{10,11}', kind => 'k', expires_in => '1 hour');
select id, inserted from queue_unique_insert('codes', '{"n": 12}', expires_at => '2500-01-01');
select id, inserted from queue_unique_insert('codes', '{"n": 13}', kind => 'k', expires_at => '2500-01-01');
select id, inserted from queue_unique_insert_many('codes', '{"{\"n\": 14}","{\"n\": 15}"}', expires_at => '2500-01-01');
select id, inserted from queue_unique_insert_many('codes', '{"{\"n\": 16}","{\"n\": 17}"}', kind => 'k', expires_at => '2500-01-01');
create view sent as select id, payload, kind, case when expires_at between now() and now() + interval '1 day' then 'in an hour'
	else expires_at::text end as expires, expires_at between now() + interval '59 min' and now() + interval '61 min' as soon, attempt from codes order by id;
table sent;
-- By statements, too.
truncate codes restart identity;
create function pass() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger pass before insert on codes for each row execute function pass();
select queue_send('codes', '1', expires_in => '1 hour'), queue_send('codes', '2', kind => 'k', expires_at => '2500-01-01'), queue_send('codes', '3');
select queue_send_many('codes', '{4,5}', expires_at => '2500-01-01');
select queue_send_many('codes', '{6}', kind => 'k', expires_at => '2500-01-01');
select id from queue_unique_insert('codes', '{"n": 7}', expires_at => '2500-01-01');
select id from queue_unique_insert('codes', '{"n": 8}', kind => 'k', expires_at => '2500-01-01');
select id from queue_unique_insert_many('codes', '{"{\"n\": 9}","{\"n\": 10}"}', expires_at => '2500-01-01');
select id from queue_unique_insert_many('codes', '{"{\"n\": 11}","{\"n\": 12}"}', kind => 'k', expires_at => '2500-01-01');
table sent;
drop trigger pass on codes;
truncate codes restart identity;

-- A claim passes by what has expired, on each path, and leaves it as it is: nothing is claimed where all have.
create view state as
	select 'codes' as queue, id, payload, dead_at between now() - interval '1 minute' and clock_timestamp() as dead, last_error, attempt, leased_by, leased_until is not null as leased, claimed_at is not null as claimed from codes
	union all select 'kept', id, payload, dead_at between now() - interval '1 minute' and clock_timestamp(), last_error, attempt, leased_by, leased_until is not null, claimed_at is not null from kept
	union all select 'gone', id, payload, dead_at between now() - interval '1 minute' and clock_timestamp(), last_error, attempt, leased_by, leased_until is not null, claimed_at is not null from gone
	order by 1, 2;
create procedure claims(path text) language plpgsql as $$
declare
	name text;
	found text;
begin
	perform set_config('queue_ext.claim_path', path, false), set_config('default_transaction_isolation', 'serializable', false);
	foreach name in array array['codes', 'kept', 'gone'] loop
		execute format('truncate %I restart identity', name);
		if name = 'kept' then
			truncate kept_archive;
		end if;
		perform queue_send(name, '1', expires_at => now());
		perform queue_send_many(name, '{2,3}', expires_in => '1 us');
		perform queue_send(name, '4', expires_in => '1 hour');
		perform queue_send(name, '5', expires_at => '-infinity');
		perform queue_send(name, '6');
		perform queue_send(name, '7', priority => 1, expires_at => '2000-01-01');
	end loop;
	commit;
	foreach name in array array['codes', 'kept', 'gone'] loop
		select string_agg(payload::text, ' ' order by id) into found from queue_pop(name, 10, worker => 'w');
		raise notice '% gives %', name, found;
		rollback;
		raise notice '% has % jobs', name, (select count(*) from state as s where s.queue = name);
	end loop;
	foreach name in array array['codes', 'kept', 'gone'] loop
		for i in 1..3 loop
			select string_agg(payload::text, ' ' order by id) into found from queue_pop(name, worker => 'w');
			raise notice '% gives %', name, coalesce(found, 'none');
			commit;
		end loop;
	end loop;
	perform set_config('default_transaction_isolation', 'read committed', false);
end $$;
create view archived as select id, payload, state, attempt, leased_by, last_error, claimed_at, finished_at between now() - interval '1 minute' and clock_timestamp() as now from kept_archive order by id;
set client_min_messages = notice;
call claims('direct');
set client_min_messages = warning;
table state;
table archived;
call queue_maintain('codes');
call queue_maintain('kept');
call queue_maintain('gone');
table state;
table archived;
select state, finished_at is not null as ended, result from queue_result('kept', 2);
select state from queue_result('codes', 1);
call queue_wait_done('kept', 1, '5 s');
set client_min_messages = notice;
call claims('tid');
set client_min_messages = warning;
table state;
set client_min_messages = notice;
call claims('portable');
set client_min_messages = warning;
table state;
truncate gone, kept, kept_archive;
reset queue_ext.claim_path;

-- Once it was started it is a job like any other: it is tried again, whatever the time, and its lease may end.
truncate codes restart identity;
select queue_send('codes', '1', expires_in => '1 day');
select id, attempt from queue_pop('codes');
update codes set expires_at = now();
select queue_fail('codes', 1, 1, 'busy', '0');
select id, attempt from queue_pop('codes', lease => '1 us');
select id, attempt from queue_pop('codes');
-- One that was given back was not, however often.
truncate codes restart identity;
select queue_send('codes', '1', expires_in => '1 day');
select queue_release('codes', id, attempt) from queue_pop('codes');
select queue_release('codes', id, attempt) from queue_pop('codes');
update codes set expires_at = now();
begin isolation level serializable;
select id, attempt from queue_pop('codes');
commit;
call queue_maintain('codes');
select id, attempt, released, max_attempts, dead_at is not null as dead, last_error, claimed_at is not null as claimed, leased_until from codes;
-- It can be asked for again, and is done then, late or not.
select queue_requeue('codes', 1);
select expires_at, dead_at from codes;
select id, attempt from queue_pop('codes');
-- Also in its last attempt, or as one of its own transaction.
truncate codes restart identity;
begin isolation level serializable;
select queue_send('codes', '1', max_attempts => 1, expires_at => now());
select queue_send('codes', '2');
select id from queue_pop('codes', 5);
select id from queue_pop('codes', 5);
commit;
table state;
call queue_maintain('codes');
table state;
select queue_requeue('codes', 1);
select id, attempt from queue_pop('codes');
truncate codes restart identity;
-- Without on_expire any more it is handed out, also where claims know already that nothing else is left.
set default_transaction_isolation = 'serializable';
select queue_send('codes', '1', expires_at => now());
select id from queue_pop('codes');
select queue_alter('codes', on_expire => '');
select id from queue_pop('codes');
select queue_alter('codes', on_expire => 'dead');
truncate codes restart identity;
-- So is one whose expiry is moved, whoever does that.
select queue_send('codes', '1', expires_at => now());
select id from queue_pop('codes');
update codes set expires_at = expires_at + '1 day';
select id from queue_pop('codes');
reset default_transaction_isolation;
truncate codes restart identity;
-- Occurrences of schedules do not expire, whatever the column has.
create procedure occur(path text) language plpgsql as $$
declare
	found text;
begin
	truncate codes restart identity;
	perform set_config('queue_ext.claim_path', path, false);
	alter table codes alter expires_at set default '2000-01-01';
	perform queue_schedule('codes', 'daily', '1 day', payload => '"daily"');
	perform queue_send('codes', '1');
	update codes set run_at = now();
	commit;
	call queue_maintain('codes');
	select string_agg(payload::text, ' ') into found from queue_pop('codes', 5);
	raise notice '% gives %, and % died', path, found, (select count(*) from codes where dead_at is not null);
	perform queue_unschedule('codes', 'daily');
	alter table codes alter expires_at drop default;
	commit;
end $$;
set client_min_messages = notice;
call occur('direct');
call occur('tid');
call occur('portable');
set client_min_messages = warning;
reset queue_ext.claim_path;
truncate codes restart identity;
-- Kinds, and functions that pop on their own.
select queue_create('kinds', kinds => true, lease => '1 hour', on_expire => 'delete');
select queue_send('kinds', '1', kind => 'a', expires_at => now()), queue_send('kinds', '2', kind => 'b', expires_at => now()), queue_send('kinds', '3', kind => 'a'), queue_send('kinds', '4', kind => 'b');
begin isolation level serializable;
select payload from queue_pop('kinds', 9, kinds => '{b}');
select payload from kinds order by id;
select payload from queue_complete_pop('kinds', 4, 1);
select payload from kinds order by id;
commit;
truncate kinds;
select queue_send('kinds', '5', expires_at => now());
begin isolation level serializable;
select payload from queue_pop_any('{codes,kinds}');
select count(*) from kinds;
select (r).payload from queue_pop_rows(null::kinds, 'kinds') as r;
commit;
select queue_drop('kinds');

-- A look ends those behind a backlog, and scheduled ones, once a second; what was started, or is dead, stays.
truncate codes restart identity;
select queue_send_many('codes', '{1,2}', priority => -1);
select queue_send('codes', '3', expires_at => now());
select queue_send('codes', '4', run_at => '2500-01-01', expires_at => now());
select queue_send('codes', '5', expires_in => '1 hour');
select queue_send('codes', '6', priority => -2, expires_in => '1 day');
select payload from queue_pop('codes', lease => '1 us');
update codes set expires_at = now() where id = 6;
select queue_send('codes', '7', priority => -2, expires_in => '1 day');
select queue_fail('codes', id, attempt, 'no', '1 day') from queue_pop('codes', kinds => null) where payload = '7';
select payload, last_error, dead_at is not null as dead from codes order by id;
\c -
set client_min_messages = warning;
set time zone 'UTC';
set search_path = test_expire, public;
select count(*) from queue_pop('codes');
select payload, last_error, dead_at is not null as dead from codes order by id;
-- Those that were started in time stand in the index, too: a look reads them once a minute. So it finds later what was committed
-- late.
truncate codes restart identity;
insert into codes (payload, priority, run_at, attempt, expires_at) select '0', 1, '2500-01-01', 1, now() from generate_series(1, 300);
create function pop_until_dead(job jsonb) returns void language plpgsql as $$
begin
	for i in 1 .. 3000 loop
		exit when exists (select from codes where payload = job and dead_at is not null)
			or clock_timestamp() > statement_timestamp() + interval '40 s';
		perform pg_sleep(0.1);
		perform from queue_pop('codes');
	end loop;
end $$;
create function read_so_far() returns bigint language sql volatile as $$
	select pg_stat_get_xact_tuples_returned(indexrelid) from pg_index where indrelid = 'codes'::regclass and pg_get_indexdef(indexrelid) ~ '\(expires_at, id\)' $$;
select clock_timestamp() as begun \gset
begin;
select count(*) from queue_pop('codes');
select read_so_far() as before \gset
select queue_send('codes', '1', run_at => '2500-01-01', expires_at => '2020-01-01'), queue_send('codes', '2', run_at => '2500-01-01', expires_at => clock_timestamp());
select pop_until_dead('2');
select clock_timestamp() - :'begun' > '50 s' as is_slow \gset
select :before >= 300 as first, :'is_slow' or read_so_far() - :before < 10 as second;
commit;
select payload from codes where dead_at is not null and not (:'is_slow' and payload = '1');
-- A pop passes any number of them on each path, and writes no more than its job and a batch, which is ended when it commits.
truncate codes restart identity;
alter table codes set (autovacuum_enabled = off);
create function written() returns bigint language sql volatile as $$
	select pg_stat_get_xact_tuples_inserted('codes'::regclass) + pg_stat_get_xact_tuples_updated('codes'::regclass) + pg_stat_get_xact_tuples_deleted('codes'::regclass) $$;
create function pop_one(path text, lease interval default '1 hour') returns table (payload jsonb, leased interval, written bigint) language plpgsql volatile as $$
declare
	before bigint := written();
	popped queue_job;
begin
	perform set_config('queue_ext.claim_path', path, true);
	select * into popped from queue_pop('codes', lease => pop_one.lease);
	return query select popped.payload, popped.leased_until - c.claimed_at, written() - before from codes as c where id = popped.id;
end $$;
insert into codes (payload, priority, expires_at) select '0', -1, now() - i * interval '1 ms' from generate_series(1, 20000) as i;
select queue_send_many('codes', '{1,2,3,4}');
begin isolation level serializable;
select * from pop_one('direct', '1 s');
rollback;
begin isolation level serializable;
select * from pop_one('tid', '1 s');
rollback;
begin isolation level serializable;
select * from pop_one('portable', '1 s');
rollback;
select sum(not_pending) < 100 as few, sum(locked) as locked from queue_claim_stats where source = 'codes'::regclass;
\c -
set client_min_messages = warning;
set time zone 'UTC';
set search_path = test_expire, public;
begin;
select * from pop_one('direct');
commit;
select count(*) from codes where dead_at is not null;
\c -
set client_min_messages = warning;
set time zone 'UTC';
set search_path = test_expire, public;
begin;
select * from pop_one('tid');
commit;
select count(*) from codes where dead_at is not null;
\c -
set client_min_messages = warning;
set time zone 'UTC';
set search_path = test_expire, public;
begin;
select * from pop_one('portable');
commit;
select count(*) from codes where dead_at is not null;
-- A session looks again after a pause, of a second at least, and goes on where it was.
create procedure look_twice(inout one bigint default null, inout two bigint default null, inout paused boolean default null) language plpgsql as $$
declare
	begun timestamptz := clock_timestamp();
	before bigint := (select count(*) from codes where dead_at is not null);
begin
	perform from queue_pop('codes');
	commit;
	select count(*) - before into one from codes where dead_at is not null;
	for i in 1 .. 6000 loop
		perform pg_sleep(0.05);
		perform from queue_pop('codes');
		commit;
		select count(*) - before - one into two from codes where dead_at is not null;
		exit when two > 0 or clock_timestamp() > begun + interval '40 s';
	end loop;
	paused := clock_timestamp() - begun >= '1 s';
end $$;
\c -
set client_min_messages = warning;
set time zone 'UTC';
set search_path = test_expire, public;
call look_twice();
-- Where nothing else is left, there is nothing to claim.
delete from codes where payload <> '0';
begin isolation level serializable;
select count(*) from pop_one('direct');
select count(*) from pop_one('tid');
select count(*) from pop_one('portable');
commit;
-- However short the lease is, nothing comes twice in one call, and nothing late.
create function briefly(path text) returns table (payload jsonb, attempt integer) language plpgsql as $$
begin
	perform set_config('queue_ext.claim_path', path, true);
	return query select p.payload, p.attempt from queue_pop('codes', 9, lease => '1 us') as p;
end $$;
truncate codes restart identity;
select queue_send('codes', '1', priority => -2), queue_send('codes', '2', expires_at => now()), queue_send('codes', '3');
insert into codes (payload, priority, expires_at) select '0', -1, now() from generate_series(1, 600);
begin isolation level serializable;
select * from briefly('direct');
rollback;
begin isolation level serializable;
select * from briefly('tid');
rollback;
begin isolation level serializable;
select * from briefly('portable');
rollback;
delete from codes where payload = '0';
begin isolation level serializable;
select * from briefly('portable');
rollback;
-- queue_maintain ends all, also without the index.
truncate codes restart identity;
insert into codes (payload, expires_at) select '0', now() from generate_series(1, 1200);
insert into kept (payload, expires_at) select '0', now() from generate_series(1, 700);
select count(*) as before from kept_archive \gset
call queue_maintain('codes');
select count(*) from codes where dead_at is not null;
select format('drop index %s', indexrelid::regclass) from pg_index where indrelid = 'kept'::regclass and pg_get_indexdef(indexrelid) ~ 'expires_at' \gexec
truncate kept;
insert into kept (payload, expires_at) select '0', now() from generate_series(1, 700);
call queue_maintain('kept');
select count(*) from kept;
select count(*) - :before as more from kept_archive;
-- Where the owner has dropped it, claims do not look.
insert into kept (payload, run_at, expires_at) values ('1', '2500-01-01', now());
\c -
set client_min_messages = warning;
set time zone 'UTC';
set search_path = test_expire, public;
select count(*) from queue_pop('kept');
select count(*) from kept;
select queue_upgrade('kept');
select queue_upgrade('kept');
truncate kept;

-- Of a table with children, which may have equal ids, the one that has expired is ended, by queue_maintain alone.
select queue_create('family', on_expire => 'delete');
create table family_child () inherits (family);
insert into family (payload, run_at, expires_at) values ('1', '2500-01-01', now());
insert into family_child (id, payload, run_at, attempt, expires_at) select id, '2', '2500-01-01', 1, now() from only family;
select count(*) from queue_pop('family');
select tableoid::regclass, payload from family;
call queue_maintain('family');
select tableoid::regclass, payload from family;
drop table family_child;
select queue_drop('family');

-- Looks go on where the one before has ended, also when the table has changed; and behind a batch that cannot be ended.
select queue_create('many', on_expire => 'delete');
insert into many (payload, run_at, attempt, expires_at) select '1', '2500-01-01', 1, now() - interval '1 hour' from generate_series(1, 2500);
insert into many (payload, run_at, expires_at) values ('2', '2500-01-01', now());
select count(*) from queue_pop('many');
select count(*) from many;
select queue_alter('many', lease => '1 hour'); -- so that the next claim looks
select count(*) from queue_pop('many');
select count(*) from many;
truncate many;
create function refuse_bad() returns trigger language plpgsql as $$
begin
	if old.payload = '"bad"' then
		raise 'not this one';
	end if;
	return old;
end $$;
create trigger refuse_bad before delete on many for each row execute function refuse_bad();
insert into many (payload, run_at, expires_at) select case i when 1 then '"bad"' else '1' end::jsonb, '2500-01-01', now() from generate_series(1, 1200) as i;
\c -
set client_min_messages = warning;
set search_path = test_expire, public;
select count(*) from queue_pop('many');
select count(*) from many;
select queue_alter('many', lease => '2 hours');
select count(*) from queue_pop('many');
select count(*) from many;
select queue_drop('many');

-- The archive with a keep; and its loss, which leaves the jobs where they are.
select queue_create('slots', archive => true, archive_keep => '1 day', on_expire => 'archive');
select queue_send('slots', '1', expires_at => now());
call queue_maintain('slots');
select payload, state from slots_archive;
-- A look locks the archive only when there is something for it, and then the one slot.
create function locked() returns bigint language sql volatile as $$
	select count(*) from pg_locks as l where pid = pg_backend_pid() and mode = 'RowExclusiveLock' and relation in (
		select relid from pg_partition_tree('slots_archive')) $$;
create role regress_expire_worker;
grant usage on schema test_expire to regress_expire_worker;
grant select, insert, update, delete on slots to regress_expire_worker;
\c -
set client_min_messages = warning;
set search_path = test_expire, public;
set role regress_expire_worker;
begin;
select count(*) from queue_pop('slots');
select locked();
commit;
reset role;
select queue_send('slots', '4', run_at => '2500-01-01', expires_at => now());
\c -
set client_min_messages = warning;
set search_path = test_expire, public;
set session authorization regress_expire_worker;
begin;
select count(*) from queue_pop('slots');
select locked();
commit;
reset session authorization;
select payload, state from slots_archive order by payload;
drop owned by regress_expire_worker;
drop role regress_expire_worker;
drop table slots_archive;
select queue_send('slots', '2', expires_at => now());
\c -
set client_min_messages = warning;
set time zone 'UTC';
set search_path = test_expire, public;
select count(*) from queue_pop('slots');
select payload, dead_at is not null as dead, last_error, attempt from slots;
select queue_send('slots', '3', expires_at => now());
select error_of($$call queue_maintain('slots')$$);
\set VERBOSITY terse
call queue_maintain('slots');
\set VERBOSITY default
select queue_drop('slots');

-- With a dead queue they go there.
select queue_create('letters');
select queue_alter('codes', dead_queue => 'letters');
truncate codes restart identity;
select queue_send('codes', '1', kind => 'k', expires_at => now());
call queue_maintain('codes');
select count(*) from codes;
select payload, kind, last_error, attempt, origin - 'created_at'::text - 'died_at'::text as origin, expires_at from letters;
select queue_send('codes', '3', run_at => '2500-01-01', expires_at => now());
\c -
set client_min_messages = warning;
set time zone 'UTC';
set search_path = test_expire, public;
select count(*) from queue_pop('codes');
select payload, last_error from letters order by id;
select count(*) from codes;
select queue_alter('codes', dead_queue => '');
select queue_drop('letters');

-- A unique insert that replaces gives the job its own expiry, or none, and with that a new start; one that postpones leaves it,
-- unless it gives one.
create view expiry as select payload->'v' as v, to_char(expires_at, 'YYYY') as expires, attempt, released from codes order by id;
select outcome from queue_unique_insert('codes', '{"k": 1, "v": 1}', '{k}', expires_at => '2501-01-01');
select outcome from queue_unique_insert('codes', '{"k": 1, "v": 2}', '{k}', expires_at => '2502-01-01', on_conflict => 'replace');
table expiry;
select outcome from queue_unique_insert('codes', '{"k": 1, "v": 3}', '{k}', on_conflict => 'replace');
table expiry;
select outcome from queue_unique_insert('codes', '{"k": 1, "v": 4}', '{k}', run_at => '2500-01-01', expires_at => '2503-01-01', on_conflict => 'postpone');
table expiry;
select outcome from queue_unique_insert('codes', '{"k": 1, "v": 5}', '{k}', run_at => '2500-01-02', on_conflict => 'postpone');
table expiry;
select outcome from queue_unique_insert('codes', '{"k": 1, "v": 6}', '{k}', run_at => '2400-01-02', expires_at => '2504-01-01', on_conflict => 'postpone');
table expiry;
select outcome from queue_unique_insert('codes', '{"k": 1, "v": 7}', '{k}', expires_at => '2505-01-01', on_conflict => 'keep');
table expiry;
select outcome from queue_unique_insert('codes', '{"k": 1, "v": 8}', '{k}', on_conflict => 'replace');
select queue_fail('codes', id, attempt, 'no', '1 us') from queue_pop('codes');
select pg_sleep(0.001) is null as slept;
select outcome from queue_unique_insert('codes', '{"k": 1, "v": 9}', '{k}', on_conflict => 'replace');
table expiry;
select outcome from queue_unique_insert('codes', '{"k": 1, "v": 10}', '{k}', expires_at => now(), on_conflict => 'replace');
table expiry;
select count(*) from queue_pop('codes');
call queue_maintain('codes');
select payload, dead_at is not null as dead, attempt, released from codes;
truncate codes restart identity;
select outcome from queue_unique_insert('codes', '{"k": 2, "v": 1}', '{k}');
select id from queue_pop('codes', lease => '1 us');
select pg_sleep(0.001) is null as slept;
select outcome from queue_unique_insert('codes', '{"k": 2, "v": 2}', '{k}', expires_at => now(), on_conflict => 'replace');
table expiry;
select count(*) from queue_pop('codes');
call queue_maintain('codes');
select payload, dead_at is not null as dead, attempt, released from codes;
truncate codes restart identity;

-- Rights: who gives an expiry needs INSERT on the column, who does not needs none; a worker needs none to end a job.
create role regress_expire_sender;
create role regress_expire_worker;
create role regress_expire_owner;
grant create, usage on schema test_expire to regress_expire_owner;
grant usage on schema test_expire to regress_expire_sender, regress_expire_worker;
grant insert (payload, priority, run_at, max_attempts, unique_key, kind), select (id, unique_key, payload, run_at, leased_until, dead_at) on codes, kept, gone to regress_expire_sender;
grant select, update (attempt, leased_until, leased_by, dead_at, claimed_at) on codes, kept, gone to regress_expire_worker;
select format('alter table %s owner to regress_expire_owner', t) from unnest('{codes,kept,kept_archive,gone}'::text[]) as t \gexec
set role regress_expire_sender;
select queue_send('codes', '1');
select error_of($$select queue_send('codes', '2', expires_in => '1 hour')$$);
select error_of($$select queue_send_many('codes', '{2}', expires_in => '1 hour')$$);
select error_of($$select queue_unique_insert('codes', '{"k": 3}', expires_in => '1 hour')$$);
select outcome from queue_unique_insert('codes', '{"k": 4}', '{k}');
select outcome from queue_unique_insert('codes', '{"k": 4}', '{k}', on_conflict => 'replace');
select error_of($$select outcome from queue_unique_insert('codes', '{"k": 4}', '{k}', expires_in => '1 hour', on_conflict => 'replace')$$);
reset role;
grant insert (expires_at) on codes, kept, gone to regress_expire_sender;
set role regress_expire_sender;
select outcome from queue_unique_insert('codes', '{"k": 4}', '{k}', expires_in => '1 hour', on_conflict => 'replace');
select queue_send('codes', '2', expires_in => '1 hour'), queue_send('codes', '3', expires_at => now()), queue_send('kept', '3', expires_at => now()), queue_send('gone', '3', expires_at => now());
select queue_send_many('codes', '{5}', expires_in => '1 hour');
reset role;
\c -
set client_min_messages = warning;
set time zone 'UTC';
set search_path = test_expire, public;
set role regress_expire_worker;
select payload from queue_pop('codes', 9);
select payload from queue_pop('kept', 9);
select payload from queue_pop('gone', 9);
reset role;
select payload, last_error from codes where dead_at < clock_timestamp();
select count(*) from kept;
select count(*) from gone;
select payload, state from kept_archive order by finished_at desc limit 1;
-- Where code of users is in the way, the worker's rights do not reach for what the queue says, so the job stays, and is passed by.
create trigger pass before delete on gone for each row execute function pass();
create trigger pass before update of last_error on codes for each row execute function pass();
truncate codes, gone restart identity;
select queue_send('codes', '1', expires_at => now()), queue_send('gone', '1', expires_at => now());
\c -
set client_min_messages = warning;
set time zone 'UTC';
set search_path = test_expire, public;
set role regress_expire_worker;
select payload from queue_pop('codes');
select payload from queue_pop('gone');
reset role;
select queue, payload, dead, last_error, attempt, leased, claimed from state where queue <> 'kept';
-- So it does where a trigger suppresses the end, or raises; queue_maintain says so.
truncate gone restart identity;
create or replace function pass() returns trigger language plpgsql as $$ begin return null; end $$;
select queue_send('gone', '1', expires_at => now());
\c -
set client_min_messages = warning;
set time zone 'UTC';
set search_path = test_expire, public;
select payload from queue_pop('gone');
select queue, payload, dead, last_error, attempt, leased, claimed from state where queue = 'gone';
\set VERBOSITY terse
call queue_maintain('gone');
\set VERBOSITY default
create or replace function pass() returns trigger language plpgsql as $$ begin raise 'not today'; end $$;
truncate gone restart identity;
select queue_send('gone', '1', expires_at => now());
\c -
set client_min_messages = warning;
set time zone 'UTC';
set search_path = test_expire, public;
select payload from queue_pop('gone');
select queue, payload, dead, last_error, attempt, leased, claimed from state where queue = 'gone';
select queue_send('gone', '2', expires_at => now());
\set VERBOSITY terse
call queue_maintain('gone');
\set VERBOSITY default
drop trigger pass on gone;
drop trigger pass on codes;
call queue_maintain('gone');
select payload from gone;

-- An error of a constraint shows its sender what it has given, and no more.
alter table codes add check (payload <> '"bad"');
set role regress_expire_sender;
select error_of($$select queue_send('codes', '"bad"', run_at => '2400-01-01', expires_at => '2500-01-01')$$);
reset role;

-- The statistics count them by themselves, neither as claimed nor as released; and what is left is known.
create view numbers as select sent, claimed, completed, failed, dead, moved, unstarted, released, cancelled, expired, ready, scheduled, leased
	from queue_stats where queue = 'test_expire.counted';
create procedure count_on(path text) language plpgsql as $$
begin
	perform set_config('queue_ext.claim_path', path, false);
	if to_regclass('counted') is not null then
		perform queue_drop('counted');
	end if;
	perform queue_create('counted', lease => '1 hour', on_expire => 'dead');
	commit;
	perform queue_send_many('counted', '{1,2}', expires_at => now());
	perform queue_send('counted', '3'), queue_send('counted', '4'), queue_send('counted', '5', run_at => '2500-01-01');
	commit;
	perform queue_pop('counted');
	commit;
	call queue_maintain('counted');
end $$;
call count_on('direct');
table numbers;
select sum(jobs) as waited from queue_wait_histogram where queue = 'test_expire.counted' and le = 'infinity';
call count_on('tid');
table numbers;
select sum(jobs) as waited from queue_wait_histogram where queue = 'test_expire.counted' and le = 'infinity';
call count_on('portable');
table numbers;
select sum(jobs) as waited from queue_wait_histogram where queue = 'test_expire.counted' and le = 'infinity';
reset queue_ext.claim_path;
-- By a look, or queue_maintain, the same, also of scheduled ones; and as the queue says.
select queue_drop('counted'), queue_create('counted', lease => '1 hour', on_expire => 'delete');
select queue_send_many('counted', '{1,2}', expires_at => now());
select queue_send('counted', '3'), queue_send('counted', '4', run_at => '2500-01-01', expires_at => now()), queue_send('counted', '5', run_at => '2500-01-01');
call queue_maintain('counted');
table numbers;
select queue_alter('counted', archive => true, on_expire => 'archive');
select queue_send_many('counted', '{6,7}', expires_at => now());
\c -
set client_min_messages = warning;
set time zone 'UTC';
set search_path = test_expire, public;
select payload from queue_pop('counted', 5);
table numbers;
-- What was rolled back was not counted, and was not ended.
select queue_send('counted', '8', expires_at => now());
\c -
set client_min_messages = warning;
set time zone 'UTC';
set search_path = test_expire, public;
begin;
select payload from queue_pop('counted', 5);
rollback;
table numbers;
-- One that has not been ended counts as ready, though a claim has found nothing.
begin isolation level serializable;
select payload from queue_pop('counted', 5);
commit;
table numbers;
call queue_maintain('counted');
table numbers;

-- A table of 0.1 has no column for it.
select queue_create('old', on_expire => 'dead');
alter table old drop expires_at;
select error_of($$select queue_send('old', '1', expires_in => '1 hour')$$);
select queue_send('old', '1');
select payload from queue_pop('old');
call queue_maintain('old');
select queue_alter('old', on_expire => '');
select error_of($$select queue_alter('old', on_expire => 'dead')$$);
select queue_upgrade('old');
select queue_alter('old', on_expire => 'dead');
select tablename from indexes where tablename = 'old';
-- The comment of a table keeps the setting, where the queue is adopted again.
select queue_detach('old');
select format('drop index %s', indexrelid::regclass) from pg_index where indrelid = 'old'::regclass and pg_get_indexdef(indexrelid) ~ 'expires_at' \gexec
select queue_adopt('old');
select on_expire from queues where source = 'old'::regclass;
select tablename from indexes where tablename = 'old';
select queue_detach('old');
comment on table old is 'queue of queue_ext: {"lease": "PT30S", "max_attempts": 25, "backoff_base": "PT1S", "backoff_cap": "PT1H", "archive": false, "on_expire": "archive"}';
select error_of($$select queue_adopt('old')$$);
comment on table old is 'queue of queue_ext: {"lease": "PT30S", "max_attempts": 25, "backoff_base": "PT1S", "backoff_cap": "PT1H", "archive": false, "on_expire": "never"}';
select error_of($$select queue_adopt('old')$$);

-- One whose attempt was set back is a job that nobody has started, also for who ends it, and for unique inserts.
select queue_create('again', on_expire => 'delete');
select outcome from queue_unique_insert('again', '{"k": 1}', '{k}');
select payload from queue_pop('again', lease => '1 us');
update again set attempt = 0, expires_at = now();
select payload from queue_pop('again');
select outcome from queue_unique_insert('again', '{"k": 1, "v": 2}', '{k}');
call queue_maintain('again');
select payload from again;

-- What is deferred may fail the commit, which would be the worker's: claims leave these jobs to queue_maintain.
select queue_create('graves');
select queue_create('referred', max_attempts => 1, on_expire => 'delete', dead_queue => 'graves');
create table reference (job bigint references referred (id) deferrable initially deferred);
select queue_send('referred', '1', run_at => '2500-01-01', expires_at => now());
select queue_send('referred', '2');
insert into reference select id from referred;
\c -
set client_min_messages = warning;
set time zone 'UTC';
set search_path = test_expire, public;
begin;
select queue_fail('referred', id, attempt, 'no') from queue_pop('referred');
commit;
select payload, dead_at is not null as dead from referred order by id;
\set VERBOSITY terse
call queue_maintain('referred');
\set VERBOSITY default
truncate reference;
call queue_maintain('referred');
select payload from referred;
select payload, last_error from graves;
-- So may what a foreign key leads to.
select queue_create('led', on_expire => 'delete');
create table step (id integer primary key, job bigint references led (id) on delete cascade);
create table detail (step integer references step (id));
select queue_send('led', '1', run_at => '2500-01-01', expires_at => now());
insert into step select 1, id from led;
\c -
set client_min_messages = warning;
set search_path = test_expire, public;
select count(*) from queue_pop('led');
select count(*) from led;
insert into led (payload, run_at, expires_at) values ('2', '2500-01-01', now());
insert into step select 2, id from led;
alter table detail alter constraint detail_step_fkey deferrable initially deferred;
insert into detail values (2);
\c -
set client_min_messages = warning;
set search_path = test_expire, public;
select count(*) from queue_pop('led');
select payload from led;
drop table step cascade;
-- Not what an UPDATE of other columns does not fire.
select queue_create('noted', on_expire => 'dead');
create table note (job bigint references noted (id) deferrable initially deferred);
select queue_send('noted', '1', run_at => '2500-01-01', expires_at => now());
insert into note select id from noted;
select count(*) from queue_pop('noted');
select dead_at is not null as dead from noted;
drop table note;
-- What a look takes is not off the lease, on no path.
create table ends (at timestamptz not null default clock_timestamp());
create function note_end() returns trigger language plpgsql as $$ begin insert into test_expire.ends default values; return null; end $$;
create procedure look_and_claim(path text) language plpgsql as $$
declare
	job queue_job;
begin
	perform set_config('queue_ext.claim_path', path, false);
	perform queue_create('timed', on_expire => 'delete');
	create trigger note_end after delete on timed for each row execute function note_end();
	perform queue_send('timed', '1', run_at => '2500-01-01', expires_at => now()), queue_send('timed', '2');
	commit;
	select * into job from queue_pop('timed', lease => '1 hour');
	raise notice '% %: %', path, job.payload, job.leased_until - interval '1 hour' > (select max(at) from ends);
	perform queue_drop('timed');
	truncate ends;
end $$;
set client_min_messages = notice;
call look_and_claim('direct');
call look_and_claim('tid');
call look_and_claim('portable');
set client_min_messages = warning;
reset queue_ext.claim_path;

drop schema test_expire cascade;
drop role regress_expire_sender, regress_expire_worker, regress_expire_owner;
