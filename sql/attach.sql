-- Attached queues in the registry; functions that work on them, and those that do
-- not; the functions for rows on managed queues.
set client_min_messages = error;
create schema test_attached;
create schema test_attached_b;
set search_path = test_attached, public;
create table t (id integer primary key, state integer not null default 0, note text);
insert into t select generate_series(1, 9);
select queue_attach('t', 't', 'state = 0', 'id desc', 'state = 1, note = lease::text', 'state = 2', 'state = 0', 'state = 3', 'update',
	'note = lease::text', '5 minutes');
select queue_attach('"Odd Name"', 't', 'state = 3', claim_mode => 'session');
\pset expanded on
select queue, source, managed, claim_mode, paused, lease, max_attempts, backoff_base, backoff_cap, archive, pending, order_by, on_claim,
	on_complete, on_release, on_fail, on_extend, search_path, created_at <= now() as made
from queues where source = 't'::regclass order by queue;
\pset expanded off

-- Names: by the path of the caller; in the table's schema; one of a kind.
\set VERBOSITY sqlstate
select queue_attach('t', 't', 'state = 0', on_claim => 'state = 1');
select queue_attach('test_attached_b.u', 't', 'state = 0', on_claim => 'state = 1');
select queue_attach('test_attached.u', 't', 'state = 4', on_claim => 'state = 1');
select queue_create('u');
select queue_create('managed', archive => true);
select queue_attach('managed', 't', 'state = 0', on_claim => 'state = 1');
select queue_attach('a b', 't', 'state = 0', on_claim => 'state = 1');
select queue_detach('u'), queue_detach('u', true);
select queue_detach('u');
select queue_detach(null);
select queue_detach('t', null);
create table test_attached_b.t (like t including all);
insert into test_attached_b.t values (77);
select queue_attach('t', 'test_attached_b.t', 'state = 0', on_claim => 'state = 1');
select id from queue_pop_rows(null::test_attached_b.t);
select id from queue_pop_rows(null::t, 't');
select id from queue_pop_rows(null::t, 'test_attached_b.t');
set search_path = test_attached_b, public;
select id from queue_pop_rows(null::test_attached.t, 't');
set search_path = test_attached, public;
select queue_detach('test_attached_b.t');

-- Paused, resumed, altered: lease and backoff, not what only managed queues have.
select queue_pause('t'), queue_pause('t');
select id from queue_pop_rows(null::t, 't');
select queue_complete_row('t', t) from t where id = 9;
select queue_resume('t'), queue_resume('t');
select note from queue_pop_rows(null::t, 't');
select queue_alter('t', lease => '6 minutes', backoff_base => '2 seconds', backoff_cap => '3 seconds');
select note from queue_pop_rows(null::t, 't');
select note from queue_pop_rows(null::t, 't', lease => '7 minutes');
select queue_alter('t', max_attempts => 3);
select queue_alter('t', archive => true);
select queue_alter('t', archive => false);
select lease, max_attempts, archive from queues where queue = 'test_attached.t';
select queue_drop('t');
select queue_drop('t', true);
select queue_purge('t');
select * from queue_counts('t');
select queue_send('t', '1');
select queue_send_many('t', '{1}');
select queue_pop('t');
select queue_complete('t', 1, 1);
select queue_complete_many('t', '{1}', '{1}');
select queue_release('t', 1, 1);
select queue_release_many('t', '{1}', '{1}');
select queue_fail('t', 1, 1);
select queue_fail_many('t', '{1}', '{1}');
select queue_extend('t', 1, 1);
select queue_extend_many('t', '{1}', '{1}');
select queue_cancel('t', 1);
select queue_cancel_many('t', '{1}');
select queue_requeue('t', 1);
select queue_requeue_many('t', '{1}');
select state, count(*) from t group by state order by state;

-- Receipts: once each, and for the latest claim.
select t as receipt from queue_pop_rows(null::t, 't') t \gset
select queue_extend_row('t', :'receipt'::t, '1 hour') as extended \gset
select :'receipt' as receipt, :'extended' as extended;
select queue_complete_row('t', :'receipt'::t) as old_receipt, queue_release_row('t', :'receipt'::t), queue_fail_row('t', :'receipt'::t),
       queue_extend_row('t', :'receipt'::t) is null as not_extended;
select queue_complete_row('t', :'extended'::t);
select queue_extend_row('t', :'extended'::t) is not null as still_what_on_claim_wrote;
select queue_complete_row('t', row(1000, 1, 'x')::t), queue_complete_row('t', row(null, 1, 'x')::t), queue_complete_row('t', row(null, null, null)::t);

-- Rows of managed queues.
select queue_alter('managed', lease => '1 hour', max_attempts => 2);
select count(*) from queue_send_many('managed', '{1,2,3,4,5}');
select id, attempt, leased_by, leased_until - now() > '59 minutes' as leased from queue_pop_rows(null::managed, 'managed', worker => 'ada');
select j as first from queue_pop_rows(null::managed, max_jobs => 1) j \gset
select queue_extend_row('managed', :'first'::managed, '2 hours') as extended \gset
select (:'extended'::managed).leased_until > (:'first'::managed).leased_until as later, (:'extended'::managed).attempt;
select queue_complete_row('managed', :'first'::managed) as by_the_old_row, queue_complete_row('managed', :'extended'::managed) as again;
select queue_fail_row('managed', j, 'no luck', '0') from queue_pop_rows(null::managed, 'managed') j;
select queue_release_row('managed', j) from queue_pop_rows(null::managed, 'managed') j;
select queue_release_row('managed', j, 'infinity') from managed j where id = 1;
select id, attempt, max_attempts, last_error, run_at = 'infinity' as never, leased_until is not null as leased, dead_at is not null as dying from managed order by id;
select id, queue_fail_row('managed', j, 'the last', '0') from queue_pop_rows(null::managed, 'managed', 10) j order by id;
select id, attempt, last_error, dead_at is not null as dead from managed order by id;
select id, queue_complete('managed', id, attempt) from queue_pop_rows(null::managed, 'managed', 1) order by id;
select id, queue_complete_row('managed', j) from queue_pop_rows(null::managed, 'managed', 10) j order by id;
select id, queue_complete_row('managed', j), queue_fail_row('managed', j), queue_extend_row('managed', j) is null from managed j order by id;
select id, state from managed_archive order by id;
select queue_complete_row('managed', null::managed);
select queue_pop_rows(null::queue_job);
select queue_pop_rows(null::record);
select queue_pop_rows(null::managed, 't');
select queue_pop_rows(null::t, 'managed');
select queue_pop_rows(null::t);
select queue_pop_rows(null::managed, 'managed', 0);
select queue_pop_rows(null::managed, 'managed', 10001);
select queue_pop_rows(null::managed, 'managed', null);
select queue_pop_rows(null::managed, 'managed', lease => '-1 s');
-- Typed rows in one statement, in a function, in a cursor, without the row at all.
update t set state = 0;
select count(queue_complete_row('t', j)) from queue_pop_rows(null::t, 't', 3) j where id > 7;
create function work(n integer) returns setof t language sql as $$ select * from queue_pop_rows(null::t, 't', n) $$;
select id from work(2);
do $$
declare
	job t;
begin
	for job in select * from queue_pop_rows(null::t, 't', 2) loop
		assert queue_fail_row('t', job);
	end loop;
	assert job.id = 3, job;
end $$;
select state, count(*) from t group by state order by state;
-- Dropped with the table, the schema.
drop function work(integer);
drop table t;
select count(*) from queues where queue like 'test\_attached.%';
select queue_detach('t');
drop schema test_attached, test_attached_b cascade;
