-- oldest_ready_at of queue_stats named jobs that were gone, and rose for ever in empty queues; and oldest_exact and
-- ready_exact were true where jobs had become ready of which nothing was known.
set client_min_messages = warning;
create schema test_stats_oldest;
set search_path = test_stats_oldest, public;
set queue_ext.claim_path = auto;

-- Which job is the oldest, by what queue_stats says; and the truth.
create function outlook(name text, out ready bigint, out ready_exact boolean, out oldest jsonb, out oldest_exact boolean,
	out truly_ready bigint, out truly_oldest jsonb)
language plpgsql as $$
declare
	oldest_at timestamptz;
begin
	select s.ready, s.ready_exact, s.oldest_ready_at, s.oldest_exact into ready, ready_exact, oldest_at, oldest_exact
	from queue_stats s where queue = 'test_stats_oldest.' || name;
	select c.ready into truly_ready from queue_counts(name) c;
	execute format('select (array_agg(payload order by run_at, id) filter (where run_at = $1))[1], (array_agg(payload order by run_at, id))[1]
		from %I where dead_at is null and run_at <= clock_timestamp() and (leased_until is null or leased_until <= clock_timestamp())', name)
	into oldest, truly_oldest using oldest_at;
	-- What is said to be exact must be so, and a job that is named must be ready.
	if ready_exact and ready <> truly_ready or oldest_exact and oldest is distinct from truly_oldest
		or oldest_at is not null and oldest is null then
		raise warning 'it lies';
	end if;
end $$;
create function make(queue text) returns void language sql as $$ select queue_create(queue, lease => '1 hour') $$;
create function send(queue text, number integer, due_in interval default '0') returns void
language sql as $$ select queue_send(queue, to_jsonb(number), run_at => clock_timestamp() + due_in) $$;
create function pop(queue text, jobs integer default 1) returns setof jsonb
language sql as $$ select payload from queue_pop(queue, jobs) $$;
-- Its lease ends now.
create function lose(queue text, number integer) returns void language plpgsql as $$
declare
	job record;
begin
	execute format('select id, attempt from %I where payload = to_jsonb($1)', queue) into job using number;
	perform queue_extend(queue, job.id, job.attempt, '1 microsecond');
	perform wait_until(clock_timestamp() + '1 millisecond');
end $$;
-- The next pop looks at the table: no list is trusted that was made before a change of it.
create procedure doubt(queue text) language plpgsql as $$
begin
	execute format('alter table %I alter payload set statistics 100', queue);
end $$;
create function wait_until(moment timestamptz) returns void language plpgsql as $$
begin
	while clock_timestamp() < moment loop
		perform pg_sleep(0.001);
	end loop;
end $$;

-- A lease that has ended, before something else became ready.
select make('lease');
select send('lease', 1);
select pop('lease');
select pop('lease');
select * from outlook('lease');
select lose('lease', 1);
select * from outlook('lease');
select send('lease', 2);
select * from outlook('lease');
select pop('lease');
select * from outlook('lease');

-- Delayed jobs, of which the second becomes ready after a worker has looked.
select make('delayed');
select send('delayed', 1, '100 milliseconds'), send('delayed', 2, '15 seconds');
select wait_until(run_at) from delayed where payload = '1';
select * from outlook('delayed');
select pop('delayed');
select * from outlook('delayed');
select wait_until(run_at) from delayed where payload = '2';
select * from outlook('delayed');
select pop('delayed');
call doubt('delayed');
select pop('delayed');
select * from outlook('delayed');

-- Jobs that are purged.
select make('purged');
select send('purged', n) from generate_series(1, 6) as n;
select pop('purged');
select * from outlook('purged');
select queue_purge('purged', 'ready');
select * from outlook('purged');
select send('purged', 7);
select * from outlook('purged');
select pop('purged', 2);
select pop('purged');
select * from outlook('purged');

-- What a session does that does not count.
select make('untracked');
set queue_ext.track_stats = off;
select send('untracked', 1);
set queue_ext.track_stats = on;
select * from outlook('untracked');
select pop('untracked');
call doubt('untracked');
select pop('untracked');
select * from outlook('untracked');
select send('untracked', 2);
set queue_ext.track_stats = off;
select pop('untracked');
set queue_ext.track_stats = on;
select * from outlook('untracked');
select make('inserted');
select send('inserted', 1);
set queue_ext.track_stats = off;
insert into inserted (payload) values ('2');
set queue_ext.track_stats = on;
select * from outlook('inserted');

-- Each job is done, and nobody looks for more.
select make('done');
select send('done', 1);
select queue_complete('done', id, attempt) from queue_pop('done');
select * from outlook('done');
select send('done', 2);
select * from outlook('done');
select queue_complete('done', id, attempt) from queue_pop('done');
select * from outlook('done');

-- Workers that name kinds.
select queue_create('kinds', lease => '1 hour', kinds => true);
select queue_send('kinds', '1', kind => 'a');
select queue_complete('kinds', id, attempt) from queue_pop('kinds', kinds => '{a}');
select count(*) from queue_pop('kinds', kinds => '{a}');
select * from outlook('kinds');
select queue_send('kinds', '2', kind => 'a');
select queue_send('kinds', '3', kind => 'b');
select * from outlook('kinds');
select queue_complete('kinds', id, attempt) from queue_pop('kinds', kinds => '{a}');
select * from outlook('kinds');
select queue_complete('kinds', id, attempt) from queue_pop('kinds');
select * from outlook('kinds');
-- The list of all has jobs that were claimed by their kinds.
select queue_send('kinds', to_jsonb(n), run_at => clock_timestamp(), kind => chr(96 + n)) from generate_series(1, 3) as n;
select payload from queue_pop('kinds');
select * from outlook('kinds');
select payload from queue_pop('kinds', kinds => '{b}');
select * from outlook('kinds');
select payload from queue_pop('kinds', kinds => '{c}');
select * from outlook('kinds');

-- A delayed one, which is claimed by its kind when it is due.
select queue_send('kinds', '4', run_at => clock_timestamp() + '100 milliseconds', kind => 'a');
select wait_until(run_at) from kinds where payload = '4';
select * from outlook('kinds');
select payload from queue_pop('kinds', kinds => '{a}');
select * from outlook('kinds');

-- Likewise in front of so many jobs that a look does not read all of them.
select make('deep');
select queue_send('deep', '2', priority => -1, run_at => clock_timestamp() + '100 milliseconds');
select wait_until(run_at) from deep where payload = '2';
select count(*) from queue_send_many('deep', array_fill('1'::jsonb, array[600]));
select oldest, oldest_exact from outlook('deep');
select pop('deep');
select oldest, oldest_exact from outlook('deep');

-- Without the trigger nobody tells of what comes, whatever a worker has found.
select make('untold');
drop trigger queue_ext_wake on untold;
select pop('untold');
select pop('untold');
insert into untold (payload) values ('1');
select * from outlook('untold');

-- A sweep keeps what was claimed so in the list of all; and a rollback puts it back.
select queue_create('listed', lease => '1 hour', kinds => true);
select queue_send('listed', to_jsonb(n), run_at => clock_timestamp(), kind => kind) from unnest('{a,a,b,a}'::text[]) with ordinality as u(kind, n);
select payload from queue_pop('listed');
select payload from queue_pop('listed', kinds => '{b}');
select lose('listed', 1);
select payload from queue_pop('listed');
select payload from queue_pop('listed');
select * from outlook('listed');
begin;
select payload from queue_pop('listed');
rollback;
select * from outlook('listed');
select payload from queue_pop('listed');
select payload from queue_pop('listed');
select * from outlook('listed');
select queue_create('kept', lease => '1 hour', kinds => true);
select queue_send('kept', to_jsonb(n), run_at => clock_timestamp(), kind => kind) from unnest('{a,a,b,a}'::text[]) with ordinality as u(kind, n);
select payload from queue_pop('kept');
select payload from queue_pop('kept', kinds => '{b}');
-- After this rollback the next claim sweeps.
begin;
update kept set payload = '5' where payload = '4';
rollback;
select payload from queue_pop('kept');
select * from outlook('kept');
select queue_create('back', lease => '1 hour', kinds => true);
select queue_send('back', to_jsonb(n), run_at => clock_timestamp(), kind => 'a') from generate_series(1, 2) as n;
select payload from queue_pop('back');
select payload from queue_pop('back', kinds => '{a}');
begin;
select payload from queue_pop('back');
rollback;
select * from outlook('back');

-- A worker that is late: the job's lease has ended, and another worker has it on the list.
create function late(queue text) returns void language plpgsql as $$
begin
	perform send(queue, n) from generate_series(1, 2) as n;
	perform pop(queue, 2);
end $$;
create function complete(queue text, number integer) returns boolean language plpgsql as $$
declare
	job record;
	done boolean;
begin
	execute format('select * from %I where payload = to_jsonb($1)', queue) into job using number;
	execute format('select queue_complete(%L, $1, $2)', queue) into done using job.id, job.attempt;
	return done;
end $$;
select make('late'), late('late');
select lose('late', 1), lose('late', 2);
select pop('late');
select complete('late', 2);
select * from outlook('late');
select make('late_by_statement'), late('late_by_statement');
select lose('late_by_statement', 1), lose('late_by_statement', 2);
select pop('late_by_statement');
set queue_ext.claim_path = portable;
select complete('late_by_statement', 2);
set queue_ext.claim_path = auto;
select * from outlook('late_by_statement');
select queue_create('late_kept', lease => '1 hour', archive => true), late('late_kept');
select lose('late_kept', 1), lose('late_kept', 2);
select pop('late_kept');
select complete('late_kept', 2);
select * from outlook('late_kept');
select make('late_row'), late('late_row');
select lose('late_row', 1), lose('late_row', 2);
select pop('late_row');
set queue_ext.claim_path = portable;
select queue_complete_row('late_row', j) from late_row as j where payload = '2';
set queue_ext.claim_path = auto;
select * from outlook('late_row');
select make('late_failed'), late('late_failed');
select lose('late_failed', 1), lose('late_failed', 2);
select pop('late_failed');
select queue_fail('late_failed', id, attempt, retry_in => '1 hour') from late_failed where payload = '2';
select * from outlook('late_failed');

-- The portable path.
select make('portable');
select send('portable', n) from generate_series(1, 3) as n;
select pop('portable');
set queue_ext.claim_path = portable;
select pop('portable');
select * from outlook('portable');
select pop('portable');
set queue_ext.claim_path = auto;
select * from outlook('portable');

-- A job that dies when its lease ends.
select make('dying');
select queue_send('dying', '1', max_attempts => 1);
select pop('dying');
select * from outlook('dying');
select lose('dying', 1);
select * from outlook('dying');
select send('dying', 2);
select * from outlook('dying');

-- Plain UPDATE: another time, another priority, and a lease.
select make('changed');
select send('changed', n) from generate_series(1, 4) as n;
select pop('changed');
update changed set run_at = 'infinity' where payload = '2';
select * from outlook('changed');
update changed set priority = 7 where payload = '3';
select * from outlook('changed');
update changed set leased_until = 'infinity' where payload = '4';
select * from outlook('changed');

-- A transaction looks for more than it has claimed, and is rolled back: what it had claimed is there again. The ring is
-- told, and has no room for it any more when many are sent that go before. Whether
-- that transaction has swept, which the clock decides, decides what is known exactly.
select make('rolled_back');
select queue_send('rolled_back', '1', priority => 3);
begin;
select pop('rolled_back');
select pop('rolled_back');
rollback;
select * from outlook('rolled_back');
select count(*) from queue_send_many('rolled_back', array_fill('2'::jsonb, array[600]));
select * from outlook('rolled_back');
begin;
savepoint claimed;
select pop('rolled_back', 601) as claimed group by 1 order by 1;
select pop('rolled_back');
rollback to claimed;
commit;
select ready, truly_ready, truly_oldest, not oldest_exact or oldest = truly_oldest as is_right from outlook('rolled_back');
select queue_send('rolled_back', '0', priority => -1);
select pop('rolled_back');
begin;
select complete('rolled_back', 0);
savepoint claimed;
select pop('rolled_back', 601) as claimed group by 1 order by 1;
select pop('rolled_back');
release claimed;
rollback;
select ready, truly_ready, truly_oldest, not oldest_exact or oldest = truly_oldest as is_right from outlook('rolled_back');

-- A transaction removes a job, or moves it, looks, and is rolled back. Nobody had looked before.
create procedure take_back(action text) language plpgsql as $$
declare
	told record;
begin
	perform make('taken_back');
	perform send('taken_back', n) from generate_series(1, 3) as n;
	commit;
	execute action;
	perform pop('taken_back');
	perform pop('taken_back');
	rollback;
	select * into told from outlook('taken_back');
	raise notice '%: %', action, told;
	perform pop('taken_back');
	commit;
	select * into told from outlook('taken_back');
	raise notice 'right after a claim: %', (told.ready = told.truly_ready or not told.ready_exact)
		and (told.oldest = told.truly_oldest or not told.oldest_exact);
	perform pop('taken_back', 3);
	commit;
	perform pop('taken_back');
	commit;
	select * into told from outlook('taken_back');
	raise notice 'after a look: %', told;
	perform queue_drop('taken_back');
end $$;
set client_min_messages = notice;
call take_back('select queue_cancel(''taken_back'', 1)');
call take_back('select queue_cancel_many(''taken_back'', ''{1, 2, 3}'')');
call take_back('select queue_purge(''taken_back'')');
call take_back('delete from taken_back');
call take_back('update taken_back set run_at = ''infinity''');
call take_back('select queue_complete(''taken_back'', id, attempt) from queue_pop(''taken_back'', 3)');
call take_back('select queue_pop(''taken_back'', 2, ''1 microsecond''), wait_until(clock_timestamp() + ''1 millisecond'')');
call take_back('insert into taken_back (payload) values (''4'')');
set client_min_messages = warning;
-- A job that stands in the ring twice is one; the ring is asked, as the numbers are not known.
select make('twice');
select queue_send('twice', '0', priority => -1, max_attempts => 1);
select send('twice', n) from generate_series(1, 3) as n;
select pop('twice');
select lose('twice', 0);
select queue_complete('twice', id, attempt) from twice where payload = '0';
begin;
select count(*) from queue_pop('twice', 2, '1 microsecond');
select wait_until(clock_timestamp() + '1 millisecond');
select pop('twice', 2);
rollback;
select * from outlook('twice');
-- A version that the transaction has written itself, which a look in a subtransaction has found: that is rolled back
-- first. And the same in a session that does not count.
select make('own');
select send('own', n) from generate_series(1, 4) as n;
begin;
select pop('own');
rollback;
begin;
select count(*) from queue_pop('own', 1, '1 microsecond');
select wait_until(clock_timestamp() + '1 second');
savepoint looked;
select pop('own');
rollback to looked;
select pop('own');
select wait_until(clock_timestamp() + '1 second');
select pop('own');
rollback;
select pop('own');
select * from outlook('own');
select make('untracked');
select send('untracked', n) from generate_series(1, 4) as n;
begin;
select pop('untracked');
rollback;
set queue_ext.track_stats = off;
begin;
select count(*) from queue_pop('untracked', 2, '1 microsecond');
select wait_until(clock_timestamp() + '1 second');
select pop('untracked');
rollback;
set queue_ext.track_stats = on;
select pop('untracked');
select * from outlook('untracked');
select pop('untracked');
select * from outlook('untracked');
-- Jobs that such a session has sent itself, and that its look has found when their leases had ended.
select make('vain');
select pop('vain');
set queue_ext.track_stats = off;
begin;
select send('vain', n) from generate_series(1, 2) as n;
select count(*) from queue_pop('vain', 2, '1 microsecond');
select wait_until(clock_timestamp() + '1 millisecond');
select pop('vain');
rollback;
set queue_ext.track_stats = on;
select * from outlook('vain');
-- A subtransaction reads on, behind what the ring has.
select make('behind');
select count(*) from queue_send_many('behind', array(select to_jsonb(n) from generate_series(1, 300) as n));
begin;
select pop('behind');
savepoint deleted;
delete from behind where payload = '300';
select count(*) from queue_pop('behind', 200);
release deleted;
rollback;
select * from outlook('behind');
-- What was known of a backlog is known again, and no claim has to sweep for that.
select make('backlog');
select count(*) from queue_send_many('backlog', array(select to_jsonb(n) from generate_series(1, 600) as n));
select pop('backlog');
select * from outlook('backlog');
create table written (n integer);
create procedure write_and_pop(times integer) language plpgsql as $$
begin
	for n in 1 .. times loop
		insert into written values (n);
		perform pop('backlog', 300);
		rollback;
	end loop;
end $$;
select sweeps as sweeps_before from queue_claim_stats where queue = 'test_stats_oldest.backlog' \gset
call write_and_pop(100);
select sweeps - :sweeps_before < 50 as few_sweeps from queue_claim_stats where queue = 'test_stats_oldest.backlog';
select * from outlook('backlog');
select pop('backlog');
select * from outlook('backlog');
-- The queue was to be dropped then, too.
select make('dropped');
select queue_send('dropped', '1', priority => 3);
begin;
select pop('dropped');
call doubt('dropped');
select pop('dropped');
select queue_drop('dropped');
rollback;
select count(*) from queue_send_many('dropped', array_fill('2'::jsonb, array[600]));
select * from outlook('dropped');
drop schema test_stats_oldest cascade;
