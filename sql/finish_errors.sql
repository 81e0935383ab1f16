-- The last ten failures of a job, and what its worker has reported, can be read; the archive keeps them.
set client_min_messages = warning;
create schema test_errors;
set search_path = test_errors, public;
select queue_create('jobs', lease => '1 hour', max_attempts => 100, backoff_base => '1 us', backoff_cap => '1 us', archive => true);
-- The times are those of the failures, in order.
create function said(errors jsonb) returns text language sql as $$
	select string_agg(format('%s %s: %s%s', e->>'attempt', coalesce(e->>'worker', '-'), coalesce(e->>'error', '-'),
		case when (e->>'at')::timestamptz not between now() - interval '1 hour' and clock_timestamp() then ' at ' || (e->>'at') end
		|| case when (e->>'at')::timestamptz < earlier then ' before the last' end), ', ' order by number)
	from (select e, number, lag((e->>'at')::timestamptz) over (order by number) as earlier
		from jsonb_array_elements(errors) with ordinality as a (e, number)) as e $$;
create view state as select id, attempt, last_error, said(errors) as errors, progress from jobs order by id;
create function fail_again(wanted bigint, times integer) returns void language plpgsql as $$
begin
	for i in 1 .. times loop
		perform queue_fail('jobs', id, attempt, 'error ' || attempt, retry_in => '0')
		from queue_pop('jobs', worker => 'worker ' || i % 2) where id = wanted;
		if not found then raise 'job % was not popped', wanted; end if;
	end loop;
end $$;

-- None, one, ten, more.
select queue_send('jobs', '1');
table state;
select fail_again(1, 1);
table state;
select fail_again(1, 9);
select jsonb_array_length(errors), errors->0->>'attempt' as first, errors->-1->>'attempt' as last from jobs;
select fail_again(1, 5);
table state;
-- Neither a claim, nor an extension, nor a release, writes them; nor does a failure that is rolled back.
create temp table former as select errors from jobs;
select id, attempt from queue_pop('jobs');
select queue_extend('jobs', 1, 16), queue_release('jobs', 1, 16);
begin;
select queue_fail('jobs', id, attempt, 'rolled back', retry_in => '0') from queue_pop('jobs');
rollback;
select j.errors = f.errors as same from jobs as j, former as f;
-- Without a worker, without a text; dead, and made to run again; archived.
select queue_fail('jobs', id, attempt, retry => false) from queue_pop('jobs');
select id, (errors->-1) - 'at'::text as error, dead_at is not null as dead from jobs;
select queue_requeue('jobs', 1);
select (errors->-1) - 'at'::text as error, dead_at is not null as dead from jobs;
select queue_complete('jobs', id, attempt) from queue_pop('jobs');
select id, state, said(errors) as errors, progress from jobs_archive;
-- A long text is cut there only.
select queue_send('jobs', '2');
select queue_fail('jobs', id, attempt, repeat('ä', 5000), retry_in => '0') from queue_pop('jobs');
select length(last_error), length(errors->0->>'error') as kept from jobs;
-- Of whatever an owner has written there, a failure makes an array of at most ten.
create table written (value jsonb, rest integer);
insert into written values ('[]', 0), ('{"a": 1}', 1), ('null', 1), ('"text"', 1), ('[1, [2], null]', 3),
	((select jsonb_agg(i) from generate_series(1, 50) as i), 9);
do $$
declare
	w record;
	found jsonb;
begin
	for w in table written loop
		update jobs set errors = w.value;
		perform queue_fail('jobs', id, attempt, 'here', retry_in => '0') from queue_pop('jobs');
		select errors into found from jobs;
		if jsonb_array_length(found) <> w.rest + 1 or found->-1->>'error' <> 'here' then
			raise '% became %', w.value, found;
		end if;
		if w.rest = 9 and found->0 <> '42' then raise 'the wrong ones were kept: %', found; end if;
	end loop;
end $$;
-- Many, each with its own; of rows and receipts.
delete from jobs;
select from queue_send_many('jobs', array_fill('3'::jsonb, array[5]));
select id, attempt from queue_pop('jobs', 3, worker => 'many') order by id;
select queue_fail_many('jobs', array[5, 4, 3], array[1, 7, 1], '{five,four,three}', '1 hour');
select queue_fail_row('jobs', j, 'row', '1 hour') from queue_pop_rows(null::jobs, 'jobs') as j;
select queue_fail_receipt('jobs', queue_receipt('jobs', j), 'receipt', '1 hour') from queue_pop_rows(null::jobs, 'jobs') as j;
table state;

-- Progress: with a heartbeat, kept until the next; through failures and claims.
delete from jobs;
select from queue_send_many('jobs', array_fill('4'::jsonb, array[5]));
select id, attempt from queue_pop('jobs');
select queue_extend('jobs', 8, 1, progress => '{"done": 10}');
select progress from state where id = 8;
select queue_extend('jobs', 8, 1, '2 hours'), queue_extend('jobs', 8, 1, progress => null);
select progress, leased_until > clock_timestamp() + interval '90 minutes' as longer from jobs where id = 8;
select queue_extend('jobs', 8, 1, null, 'null');
select progress from state where id = 8;
select queue_extend('jobs', 8, 2, progress => '{"done": "by a stale one"}'), queue_extend('jobs', 99, 1, progress => '1');
begin;
select queue_extend('jobs', 8, 1, progress => '{"done": "rolled back"}');
rollback;
select queue_extend('jobs', 8, 1, progress => '{"done": 20}');
select queue_fail('jobs', 8, 1, 'x', '0');
select progress from state where id = 8;
update jobs set run_at = '2000-01-01' where id = 8;
select id, attempt from queue_pop('jobs');
select progress from state where id = 8;
select queue_complete('jobs', 8, 2);
select progress from jobs_archive where id = 8;
-- Many: each has its own, null leaves what is there, and the order is the caller's.
select id, attempt from queue_pop('jobs', 4) order by id;
select queue_extend_many('jobs', array[12, 11, 9], array[1, 5, 1], '1 hour', array['12', '11', '9']::jsonb[]);
select queue_extend_many('jobs', array[9, 12], array[1, 1], progress => array[null, '"again"']::jsonb[]);
select queue_extend_many('jobs', array[9], array[1], progress => array[null]::jsonb[]);
select id, progress from state;
-- Rows and receipts.
update jobs set leased_until = null, leased_by = null where id in (9, 10, 11, 12);
select (queue_extend_row('jobs', j, progress => '"row"')).progress from queue_pop_rows(null::jobs, 'jobs') as j;
select queue_extend_receipt('jobs', queue_receipt('jobs', j), '1 hour', '"receipt"') is not null as extended from queue_pop_rows(null::jobs, 'jobs') as j;
select count(*) from queue_extend_receipts('jobs', array(select queue_receipt('jobs', j) from queue_pop_rows(null::jobs, 'jobs', 2) as j order by id), null, array['"one"', null]::jsonb[]);
select id, progress from state;

-- A table of one's own says in on_extend where it is kept; else it cannot be given.
create table orders (id integer primary key, state text not null default 'new', until timestamptz, percent integer, new_progress jsonb);
create index on orders (id) where state = 'new';
insert into orders (id) select generate_series(1, 6);
select queue_attach('orders', 'orders', $$state = 'new'$$, 'id', $$state = 'taken', until = call_time + lease$$,
	on_extend => $$until = call_time + lease, percent = coalesce((call.new_progress->>'percent')::integer, percent)$$, lease => '1 hour');
select (queue_extend_row('orders', queue_extend_row('orders', o, progress => '{"percent": 10}'))).percent from queue_pop_rows(null::orders) as o;
select count(*) from queue_extend_receipts('orders', array(select queue_receipt('orders', o) from queue_pop_rows(null::orders, max_jobs => 2) as o order by id),
	progress => array['{"percent": 2}', '{"percent": 3}']::jsonb[]);
select id, percent from orders order by id;
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
select queue_attach('silent', 'orders', $$state = 'new'$$, 'id', $$state = 'taken', until = call_time + lease$$, on_extend => 'until = call_time + lease', lease => '1 hour');
select queue_attach('mute', 'orders', $$state = 'new'$$, 'id', $$state = 'taken', until = call_time + lease$$, lease => '1 hour');
select refused($$select queue_extend_row('silent', o, progress => '1') from queue_pop_rows(null::orders, 'silent') as o$$);
select refused($$select queue_extend_row('mute', o, progress => '1') from queue_pop_rows(null::orders, 'mute') as o$$);
select refused($$select queue_extend_row('silent', o, progress => null) from queue_pop_rows(null::orders, 'silent') as o$$);
select refused(format('select %s', call))
from unnest(array[
	'queue_extend_many(''jobs'', ''{9,10}'', ''{1,1}'', progress => array[''1'']::jsonb[])',
	'queue_extend_many(''jobs'', ''{9}'', ''{1}'', progress => array[[''1'']]::jsonb[][])',
	'queue_extend_receipts(''orders'', ''{}'', progress => array[''1'']::jsonb[])',
	'queue_extend_receipts(''orders'', ''{none,none}'', progress => array[''1'']::jsonb[])']) as call;

-- What on_extend and on_fail read in a sub-select they read.
select queue_attach('within', 'orders', $$state = 'new'$$, 'id', $$state = 'taken', until = call_time + lease$$, lease => '1 hour',
	on_extend => $$percent = (select max(p::integer) from jsonb_array_elements_text(call.new_progress) as p)$$,
	on_fail => $$state = (select case when call.retry then 'new' else 'dead' end)$$);
select (queue_extend_row('within', o, progress => '[1, 70, 3]')).percent from queue_pop_rows(null::orders, 'within') as o;
select queue_fail_row('within', o, retry => false), (select state from orders as p where p.id = o.id) from orders as o where percent = 70;
select state from orders where percent = 70;

-- A name of a worker that is no name, and a payload that another one takes the place of.
delete from jobs;
select queue_unique_insert('jobs', '{"k": 1, "n": 1}', '{k}');
select queue_extend('jobs', id, attempt, progress => '{"sent": 40}'), queue_fail('jobs', id, attempt, retry_in => '0')
from queue_pop('jobs', worker => repeat('w', 1000000));
select length(errors->-1->>'worker') as kept, progress from jobs;
select outcome from queue_unique_insert('jobs', '{"k": 1, "n": 2}', '{k}', run_at => now() + interval '1 minute', on_conflict => 'postpone', max_delay => '1 hour');
select payload->'n' as n, progress from jobs;
select outcome from queue_unique_insert('jobs', '{"k": 1, "n": 3}', '{k}', on_conflict => 'replace');
select payload->'n' as n, progress, jsonb_array_length(errors) as failures from jobs;

-- A queue that 0.1 made keeps neither, until it is upgraded; but its jobs can fail for good.
create role regress_errors;
create role regress_errors_watcher;
drop view state;
alter table jobs drop errors, drop progress, drop claimed_at, drop kind, drop released;
alter table jobs_archive drop errors, drop progress;
grant usage on schema test_errors to regress_errors;
grant select (id, attempt, max_attempts, run_at, leased_until, dead_at), update (run_at, leased_until, leased_by, last_error, dead_at) on jobs to regress_errors;
grant insert on jobs_archive to regress_errors;
grant select (run_at, leased_until, dead_at, leased_by) on jobs to regress_errors_watcher;
grant select (last_error) on jobs_archive to regress_errors_watcher;
update public.queue_definition set on_claim = replace(on_claim, ', claimed_at = call_time', ''),
	on_release = regexp_replace(on_release, ', released = .*', ''), on_extend = replace(on_extend, ', progress = coalesce(new_progress, progress)', ''),
	on_fail = 'last_error = error, leased_until = null, leased_by = null, run_at = case when attempt < max_attempts then retry_at else run_at end, dead_at = case when attempt >= max_attempts then call_time end'
where source = 'jobs'::regclass;
\c -
set client_min_messages = warning;
set search_path = test_errors, public;
delete from jobs;
select queue_send('jobs', '5') as id \gset
select attempt from queue_pop('jobs');
select refused(format('select %s', call))
from unnest(array[
	'queue_extend(''jobs'', 1, 1, progress => ''1'')',
	'queue_extend_row(''jobs'', j, progress => ''1'') from jobs as j',
	'queue_extend_many(''jobs'', ''{1}'', ''{1}'', progress => array[''1'']::jsonb[])']) as call;
set role regress_errors;
select queue_extend('jobs', :id, 1), queue_extend_many('jobs', array[:id], array[1], progress => array[null]::jsonb[]) = :id as many;
select queue_fail('jobs', :id, 1, 'as ever', retry => false);
reset role;
select last_error, dead_at is not null as dead from jobs;
select queue_requeue('jobs', :id);
select attempt from queue_pop('jobs');
-- Over it, leases are kept, and who may fail jobs and extend leases may do so still. Who may do neither sees no more than before.
select queue_upgrade('jobs');
select queue_upgrade('jobs');
set role regress_errors;
select queue_extend('jobs', :id, 2, progress => '"upgraded"'), queue_fail('jobs', :id, 2, 'upgraded', '0');
reset role;
select attempt from queue_pop('jobs', worker => 'last');
select queue_fail('jobs', :id, 3, 'final', retry => false);
select errors->0->>'error' as first, errors->1->>'worker' as worker, progress, dead_at is not null as dead from jobs;
select relname, attname, grantee::regrole, privilege_type from pg_attribute join pg_class as c on c.oid = attrelid, aclexplode(attacl)
where relnamespace = 'test_errors'::regnamespace and attname in ('errors', 'progress', 'leased_by') and grantee::regrole::text like 'regress%' order by 1, 2, 3, 4;
-- What the owner takes away is not kept, and all else goes on.
alter table jobs drop errors;
alter table jobs_archive drop progress;
select queue_send('jobs', '6', kind => 'k') as id \gset
select attempt from queue_pop('jobs');
select queue_fail('jobs', :id, 1, 'untold', '0');
select attempt from queue_pop('jobs');
select queue_complete('jobs', :id, 2, '"done"');
select kind, result, last_error, errors from jobs_archive where id = :id;
drop owned by regress_errors, regress_errors_watcher;
drop role regress_errors, regress_errors_watcher;
drop schema test_errors cascade;
