-- retry => false: a job that has failed is dead at once, with its error, whatever attempts it has left.
set client_min_messages = warning;
create schema test_for_good;
set search_path = test_for_good, public;
select queue_create('jobs', lease => '1 hour', max_attempts => 5);
create view state as
select id, attempt, max_attempts, last_error, leased_until is not null or leased_by is not null as leased,
	run_at <= clock_timestamp() as due, dead_at <= clock_timestamp() as dead
from jobs order by id;
select from queue_send_many('jobs', array_fill('1'::jsonb, array[9]));

-- One.
select id, attempt from queue_pop('jobs');
select queue_fail('jobs', 1, 1, 'no such address', retry => false);
select * from state where id = 1;
select queue_fail('jobs', 1, 1, 'again', retry => false) as again, queue_extend('jobs', 1, 1) as extended,
	queue_complete('jobs', 1, 1) as completed;
-- Its receipt has to be good.
select id, attempt from queue_pop('jobs');
select queue_fail('jobs', 2, 2, 'stale', retry => false), queue_fail('jobs', 99, 1, 'gone', retry => false) as gone;
select * from state where id = 2;
-- Not if that is rolled back.
begin;
select queue_fail('jobs', 2, 1, 'no', retry => false);
rollback;
select * from state where id = 2;
begin;
savepoint a;
select queue_fail('jobs', 2, 1, 'no', retry => false);
rollback to a;
select queue_fail('jobs', 2, 1, 'yes', '0', true);
commit;
select * from state where id = 2;
-- It does not wait, however long it should.
select id, attempt from queue_pop('jobs');
select queue_fail('jobs', 3, 1, null, '1 hour', false);
select * from state where id = 3;
-- Many: each error, and those with stale receipts are left alone.
select id, attempt from queue_pop('jobs', 3) order by id;
select queue_fail_many('jobs', '{6,5,4}', '{1,1,7}', '{six,five,four}', retry => false);
select * from state where id between 4 and 6;
-- Rows and receipts.
select queue_fail_row('jobs', j, 'row', retry => false) from queue_pop_rows(null::jobs, 'jobs') as j;
select queue_fail_receipt('jobs', queue_receipt('jobs', j), 'receipt', retry => false) from queue_pop_rows(null::jobs, 'jobs') as j;
select count(*) from queue_fail_receipts('jobs', array(select queue_receipt('jobs', j) from queue_pop_rows(null::jobs, 'jobs', 5) as j), '{one,other}', retry => false);
select * from state where id > 6;
-- They count as dead.
select failed, retried, dead from queue_stats where source = 'jobs'::regclass;
select * from queue_counts('jobs');
select count(*) from queue_pop('jobs', 100);
-- A requeue gives all attempts.
update jobs set dead_at = null, leased_until = clock_timestamp() + interval '1 hour' where id = 4;
select queue_requeue('jobs', id) from unnest('{1,4}'::bigint[]) as id;
select * from state where id = 1;
select queue_complete('jobs', id, attempt) from queue_pop('jobs');
-- Before, the last attempt was needed: that is as it was.
select queue_send('jobs', '2', max_attempts => 1) as id \gset
select id = :id from queue_pop('jobs');
select queue_fail('jobs', :id, 1, 'last', '0');
select last_error, dead_at is not null as dead from jobs where id = :id;
select failed, retried, dead from queue_stats where source = 'jobs'::regclass;

-- A table of one's own: on_fail reads the variable; in on_release it is null.
create table orders (id integer primary key, state text not null default 'new', tries integer not null default 0, note text, retry boolean);
create index on orders (id) where state = 'new';
insert into orders select generate_series(1, 6);
select queue_attach('orders', 'orders', 'state = ''new''', 'id', 'state = ''taken'', tries = tries + 1',
	on_release => 'state = coalesce(''retry is '' || call.retry, ''new'')',
	on_fail => 'state = case when call.retry then ''new'' else ''dead'' end, note = error');
select queue_fail_row('orders', o, 'once more') from queue_pop_rows(null::orders) as o;
select queue_fail_row('orders', o, 'never', retry => false) from queue_pop_rows(null::orders) as o;
select queue_release_row('orders', o) from queue_pop_rows(null::orders) as o;
select queue_fail_receipt('orders', queue_receipt('orders', o), 'receipt', retry => false) from queue_pop_rows(null::orders) as o;
select count(*) from queue_fail_receipts('orders', array(select queue_receipt('orders', o) from queue_pop_rows(null::orders, max_jobs => 2) as o), '{a,b}', retry => false);
select * from orders order by id;
-- In the modes in which a claim is a lock, too.
select queue_attach('locked', 'orders', 'state = ''new''', 'id', claim_mode => 'transaction',
	on_fail => 'state = case when call.retry then ''new'' else ''dead'' end, note = error');
begin;
select queue_fail_row('locked', o, 'locked', retry => false) from queue_pop_rows(null::orders, 'locked') as o;
commit;
select state, note from orders where note = 'locked';

-- What on_fail does not say cannot be asked for, and the row stays claimed.
create function refused(command text) returns text language plpgsql as $$
declare
	detail text;
	hint text;
begin
	execute command;
	return 'not refused';
exception when others then
	get stacked diagnostics detail = pg_exception_detail, hint = pg_exception_hint;
	return concat_ws(' | ', sqlstate, sqlerrm, nullif(detail, ''), nullif(hint, ''));
end $$;
select queue_attach('retried', 'orders', 'state = ''new''', 'id', 'state = ''taken'', tries = tries + 1', on_fail => 'state = ''new'', retry = true');
select queue_attach('bare', 'orders', 'state = ''new''', 'id', claim_mode => 'session');
create table taken as select o.* from queue_pop_rows(null::orders, 'retried') as o;
select refused($$select queue_fail_row('retried', o, retry => false) from orders as o, taken as t where o.id = t.id$$);
select refused($$select queue_fail_receipt('retried', queue_receipt('retried', o), retry => false) from orders as o, taken as t where o.id = t.id$$);
select o.state, o.retry from orders as o, taken as t where o.id = t.id;
delete from orders;
insert into orders values (7);
select queue_pop_rows(null::orders, 'bare');
select refused($$select queue_fail_row('bare', o, retry => false) from orders as o where id = 7$$);
select queue_fail_row('bare', o) from orders as o where id = 7;
select refused(format('select %s', call))
from unnest(array[
	'queue_fail(''jobs'', 1, 1, retry => null)',
	'queue_fail_many(''jobs'', ''{1}'', ''{1}'', retry => null)',
	'queue_fail_row(''orders'', o, retry => null) from orders as o where id = 7',
	'queue_fail_receipt(''orders'', queue_receipt(''orders'', o), retry => null) from orders as o where id = 7',
	'queue_fail_receipts(''orders'', array[queue_receipt(''orders'', o)], retry => null) from orders as o where id = 7']) as call;
drop schema test_for_good cascade;
