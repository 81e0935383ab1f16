-- Jobs that fall due one by one, by the ends of leases, retries and the times for which they were sent, do not have
-- claims read the table from its head. Sweeps are counted, and the seconds: the statistics take a look in each.
set client_min_messages = warning;
set queue_ext.claim_path = direct;
select queue_create('due', lease => '1 day', kinds => true);
insert into due (priority, payload, attempt, leased_until) select -1, '1', 1, now() + interval '1 day' from generate_series(1, 3000);
insert into due (priority, payload, run_at) select -1, '1', now() + interval '1 day' from generate_series(1, 3000);
vacuum analyze due;

-- Has a job become due a hundred times, in two milliseconds, and takes it each time.
create procedure test_due(send text, event text default null, kinds text[] default null, inout taken bigint default 0, inout few boolean default null)
language plpgsql as $$
declare
	began timestamptz := clock_timestamp();
	before bigint;
	job queue_job;
begin
	perform queue_pop('due', kinds => kinds);
	select sum(sweeps) into before from queue_claim_stats where source = 'due'::regclass;
	for i in 1 .. 100 loop
		execute send;
		commit;
		execute coalesce(event, 'select');
		commit;
		perform pg_sleep(0.003);
		select * into job from queue_pop('due', kinds => kinds);
		commit;
		continue when job.id is null;
		taken := taken + queue_cancel('due', job.id)::int;
		commit;
	end loop;
	select sum(sweeps) - before <= 5 + extract(epoch from clock_timestamp() - began) into few
	from queue_claim_stats where source = 'due'::regclass;
end $$;

call test_due('select queue_send(''due'', ''2'', run_at => clock_timestamp() + interval ''2 milliseconds'')');
call test_due('insert into due (payload, run_at) values (''2'', clock_timestamp() + interval ''2 milliseconds'')');
call test_due('select queue_send(''due'', ''2'')', 'select queue_pop(''due'', lease => ''2 milliseconds'')');
call test_due('select queue_send(''due'', ''2'')',
	'select queue_extend(''due'', id, attempt, ''2 milliseconds'') from queue_pop(''due'')');
call test_due('select queue_send(''due'', ''2'')',
	'select queue_fail(''due'', id, attempt, retry_in => ''2 milliseconds'') from queue_pop(''due'')');
-- A job that was finished in time is not looked for.
call test_due('select queue_send(''due'', ''2'')',
	'select queue_complete(''due'', id, attempt) from queue_pop(''due'', lease => ''2 milliseconds'')');
-- A worker of some kinds has a list of its own, and is told of the jobs that the others have taken.
call test_due('select queue_send(''due'', ''2'', kind => ''a'', run_at => clock_timestamp() + interval ''2 milliseconds'')', null, '{a,b}');
call test_due('select queue_send(''due'', ''2'', kind => ''a'')', 'select queue_pop(''due'', lease => ''2 milliseconds'')', '{a,b}');
call test_due('select queue_send(''due'', ''2'', kind => ''a'')',
	'select queue_pop(''due'', lease => ''2 milliseconds'', kinds => ''{a}'')', '{a,b}');
call test_due('select queue_send(''due'', ''2'', kind => ''a'')',
	'select queue_pop(''due'', lease => ''2 milliseconds'', kinds => ''{a}'')');
-- It is not told of those of other kinds, and looks at none.
select sum(not_pending) as passed from queue_claim_stats where source = 'due'::regclass \gset
select queue_send('due', '2', kind => 'c'), queue_send('due', '2', kind => 'a') \g /dev/null
select kind from queue_pop('due', 2, lease => '2 milliseconds') order by kind;
select from pg_sleep(0.005) \g /dev/null
select kind from queue_pop('due', 2, kinds => '{a,b}') as j where queue_complete('due', j.id, j.attempt);
call test_due('select queue_send(''due'', ''2'', kind => ''c'', run_at => clock_timestamp() + interval ''2 milliseconds'')', null, '{a,b}');
select sum(not_pending) - :passed as looked_at from queue_claim_stats where source = 'due'::regclass;
select count(*) from queue_pop('due', 1000) as j where queue_complete('due', j.id, j.attempt);

-- They take their places in the order among the others.
select queue_send('due', to_jsonb(n), priority => n, run_at => clock_timestamp() + n % 3 * interval '1 millisecond')
from generate_series(1, 8) as n \g /dev/null
select pg_sleep(0.005);
select payload from queue_pop('due', 10) as j where queue_complete('due', j.id, j.attempt);

-- What has happened to a job meanwhile counts: finished, under another lease, of another time, gone with a savepoint.
create procedure test_change(change text, inout after integer default null, inout later integer default null)
language plpgsql as $$
declare
	job queue_job;
begin
	perform queue_send('due', '2');
	commit;
	select * into job from queue_pop('due', lease => '50 milliseconds');
	commit;
	execute change using job.id, job.attempt;
	commit;
	perform pg_sleep(0.06);
	select count(*) into after from queue_pop('due');
	commit;
	update due set leased_until = now(), dead_at = null where payload = '2';
	commit;
	select count(*) into later from queue_pop('due') as j where queue_complete('due', j.id, j.attempt);
	commit;
end $$;
call test_change('select $1, $2');
call test_change('select queue_complete(''due'', $1, $2)');
call test_change('select queue_extend(''due'', $1, $2, ''1 day'')');
call test_change('select queue_fail(''due'', $1, $2, retry_in => ''1 day'')');
call test_change('update due set leased_until = ''infinity'' where id = $1 and attempt = $2');
call test_change('do $do$ begin update due set leased_until = ''infinity'' where payload = ''2''; raise ''no''; exception when raise_exception then end $do$');

-- A transaction that looks for what is due has removed it: after the end of that the others find it at once.
create procedure test_undone(change text, inout after integer default null, inout later integer default null)
language plpgsql as $$
begin
	perform queue_send('due', '2');
	commit;
	perform queue_pop('due', lease => '50 milliseconds');
	commit;
	begin
		execute change;
		perform pg_sleep(0.06);
		select count(*) into after from queue_pop('due');
		raise 'no';
	exception when raise_exception then
	end;
	commit;
	select count(*) into later from queue_pop('due') as j where queue_complete('due', j.id, j.attempt);
	commit;
	delete from due where payload = '2';
	commit;
end $$;
call test_undone('delete from due where payload = ''2''');
call test_undone('update due set leased_until = ''infinity'' where payload = ''2''');
call test_undone('select queue_complete(''due'', id, attempt) from due where payload = ''2''');
select queue_send('due', '2') \g /dev/null
select queue_pop('due', lease => '50 milliseconds') \g /dev/null
begin \; delete from due where payload = '2' \; select pg_sleep(0.06) \; select count(*) from queue_pop('due') \; rollback;
select count(*) from queue_pop('due') as j where queue_complete('due', j.id, j.attempt);

-- There is no room for all of a thousand, in whatever order they come. None is forgotten, at little cost.
select sum(sweeps) as before, clock_timestamp() as began from queue_claim_stats where source = 'due'::regclass \gset
insert into due (payload, run_at)
select '3', clock_timestamp() + n * 37 % 1000 * interval '0.1 milliseconds' from generate_series(1, 1000) as n;
create procedure test_many(jobs bigint, inout taken bigint default 0)
language plpgsql as $$
declare
	last timestamptz := clock_timestamp() + interval '55 s';
begin
	while taken < jobs and clock_timestamp() < last loop
		taken := taken + (select count(*) from queue_pop('due', 10) as j where queue_complete('due', j.id, j.attempt));
		commit;
	end loop;
end $$;
call test_many(1000);
select sum(sweeps) - :before <= 20 + extract(epoch from clock_timestamp() - :'began') as few
from queue_claim_stats where source = 'due'::regclass;

-- A list that begins anew learns from its first look what is to come, and does not look again for a minute: not for the
-- statistics either.
set queue_ext.track_stats = off;
insert into due (payload, run_at) select '3', clock_timestamp() + n * interval '100 milliseconds' from generate_series(1, 3) as n;
vacuum full due;
select count(*) as now from queue_pop('due') \gset
call test_many(3, :now);
reset queue_ext.track_stats;

-- Times without end are not waited for.
insert into due (payload, run_at) values ('4', 'infinity'), ('5', '-infinity');
insert into due (payload, attempt, leased_until) values ('6', 1, 'infinity'), ('7', 1, '-infinity');
select payload from queue_pop('due', 10) order by payload;
select count(*) from queue_pop('due', 10);

drop procedure test_due, test_change, test_undone, test_many;
select queue_drop('due', true);

-- A job that was released since it had become due stands at its place for a transaction that has written, too.
select queue_create('released');
select queue_send_many('released', '{1,2,3}'::jsonb[], run_at => '2020-01-01');
select id from queue_pop('released', 3, '1 microsecond');
select queue_release('released', 1, 1);
begin;
select pg_current_xact_id() is not null as has_written;
select id from queue_pop('released', 3);
rollback;
select queue_drop('released');
