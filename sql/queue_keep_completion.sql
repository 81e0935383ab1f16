-- Completions clear the slots of their archive that have nothing but what is past its keep.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create schema test_keep_completion;
set search_path = test_keep_completion, public;
set timezone = 'UTC';
create function slot_of(moment timestamptz, period interval) returns integer language sql as $$
	select ((floor((extract(epoch from moment) - 946684800) / extract(epoch from period))::bigint % 8 + 8) % 8)::integer
$$;
-- Adds jobs that finished that long ago, of which the queue keeps 6,000 days, so that midnight is of no account; the
-- slot is that of another time.
create procedure add_old(queue text, jobs integer, ago interval, placed interval default null) language plpgsql as $$
begin
	execute format('insert into %I (id, run_at, created_at, finished_at, attempt, max_attempts, slot, priority, state, payload)'
		' select (select coalesce(max(id), 0) + 1000 from %1$I) + n, now(), now(), now() - $2 - n * interval %L, 1, 1, $3, 0, %L, %L'
		' from generate_series(1, $1) as n', queue || '_archive', '1 microsecond', 'completed', '0')
		using jobs, ago, test_keep_completion.slot_of(now() - coalesce(placed, ago), '1000 days');
end $$;
create function old_jobs(queue text, out jobs bigint) language plpgsql as $$
begin
	execute format('select count(*) from %I where finished_at < now() - interval ''6000 days''', queue || '_archive') into jobs;
end $$;
-- A queue with jobs in hand, and expired ones in a slot that comes two of its periods from now.
create procedure prepare(queue text) language plpgsql as $$
begin
	perform queue_create(quote_ident(queue), archive => true, archive_keep => '6000 days', lease => '1 hour');
	perform queue_send_many(quote_ident(queue), array_fill('0'::jsonb, array[40]));
	perform queue_pop(quote_ident(queue), 40);
	call test_keep_completion.add_old(queue, 3, '14000 days');
end $$;

-- Each function that archives.
call prepare('one');
select queue_complete('one', 1, 1), old_jobs('one');
select old_jobs('one');
select id, state from one_archive;
call prepare('many');
select count(*) from queue_complete_many('many', '{1,2}', '{1,1}');
select old_jobs('many');
call prepare('popped');
select completed from queue_complete_pop('popped', 1, 1);
select old_jobs('popped');
call prepare('by_row');
select queue_complete_row('by_row', r) from by_row as r where id = 1;
select old_jobs('by_row');
call prepare('cancelled');
select queue_cancel('cancelled', 1);
select old_jobs('cancelled');
call prepare('cancelled_many');
select count(*) from queue_cancel_many('cancelled_many', '{1,2}');
select old_jobs('cancelled_many');
call prepare('repaired');
call queue_cancel_where('repaired', 'id < 3');
select old_jobs('repaired');
-- In a function: not before that has come to its end. In a procedure that commits: with each commit.
call prepare('called');
do $$ begin
	perform queue_complete('called', 1, 1);
	raise warning '%, locks: %', old_jobs('called'), (select count(*) from pg_locks where pid = pg_backend_pid() and mode = 'AccessExclusiveLock');
end $$;
select old_jobs('called');
call prepare('committed');
do $$ begin
	perform queue_complete('committed', 1, 1);
	commit;
	raise warning '%, locks: %', old_jobs('committed'), (select count(*) from pg_locks where pid = pg_backend_pid() and mode = 'AccessExclusiveLock');
	perform queue_complete('committed', 2, 1);
	rollback;
end $$;
select queue_complete('committed', 2, 1);
-- Under a snapshot that is kept.
call prepare('repeatable');
set default_transaction_isolation = 'repeatable read';
select queue_complete('repeatable', 1, 1);
reset default_transaction_isolation;
select old_jobs('repeatable');

-- Not one that archives nothing; nor in a transaction block; nor where a look would conflict with others.
call prepare('none');
select queue_complete('none', 1, 2), queue_cancel('none', 100), queue_release('none', 2, 1), queue_fail('none', 3, 1), queue_extend('none', 4, 1);
select old_jobs('none');
begin;
select queue_complete('none', 5, 1);
commit;
begin;
select queue_complete('none', 6, 1);
savepoint s;
select queue_complete('none', 7, 1);
rollback to s;
commit;
select old_jobs('none');
select queue_complete('none', 7, 1) \; select queue_complete('none', 8, 1);
select old_jobs('none');
set default_transaction_isolation = 'serializable';
select queue_complete('none', 9, 1);
reset default_transaction_isolation;
select old_jobs('none');
-- One that is rolled back leaves it to another one after a while.
select 1 / (not queue_complete('none', 10, 1))::integer;
select old_jobs('none');
select pg_sleep(1.1);
select queue_complete('none', 11, 1);
select old_jobs('none');

-- Nothing is looked for again in the period, by no session; but if the keep becomes shorter.
create procedure complete(queue text, ids int8range) language plpgsql as $$
begin
	for i in lower(ids) .. upper(ids) - 1 loop
		if not queue_complete(queue, i, 1) then
			raise 'no job %', i;
		end if;
		commit;
	end loop;
end $$;
-- Completes jobs until nothing is left that has expired.
create procedure clear(queue text) language plpgsql as $$
declare
	began timestamptz;
	took interval;
begin
	for i in 1 .. 6000 loop
		perform queue_send(queue, '0');
		began := clock_timestamp();
		perform queue_complete(queue, id, attempt) from queue_pop(queue);
		commit;
		took := clock_timestamp() - began;
		exit when test_keep_completion.old_jobs(queue) = 0;
		perform pg_sleep(0.05);
		commit;
	end loop;
	-- The pause after a look is twenty times as long as that.
	perform pg_sleep(20 * extract(epoch from took));
end $$;
call clear('one');
select pg_sleep(1.1);
call complete('one', '[2,5)');
call add_old('one', 2, '14000 days');
call complete('one', '[5,8)');
select old_jobs('one');
\c -
set client_min_messages = warning;
set search_path = test_keep_completion, public;
select queue_complete('one', 8, 1);
select old_jobs('one');
select queue_alter('one', archive_keep => '1 minute');
select queue_complete('one', 9, 1);
select old_jobs('one');

-- A slot that has come round again: what has expired of it is deleted by batches.
call prepare('round');
truncate round_archive;
call add_old('round', 1200, '16000 days', '0 days');
call add_old('round', 3, '1 hour', '0 days');
select queue_complete('round', 1, 1);
select old_jobs('round');
call clear('round');
select old_jobs('round');
select count(*) from round_archive where id > 1000;
-- Several slots, one after the other; of one only the oldest have expired.
call prepare('several');
call add_old('several', 5, '13000 days');
call add_old('several', 5, '15000 days');
call add_old('several', 2, '5833 days');
select queue_complete('several', 1, 1);
select old_jobs('several') between 8 and 10 as one_slot;
call clear('several');
select old_jobs('several');
select count(*) from several_archive where id > 1000;

-- Only what the owner has set; an archive with triggers, of another owner, or with policies for its owner is let be.
select queue_create('forever', archive => true, lease => '1 hour');
select count(queue_send('forever', '0')) from generate_series(1, 3);
select count(*) from queue_pop('forever', 3);
insert into forever_archive (id, run_at, created_at, finished_at, attempt, max_attempts, priority, state, payload)
values (1000, now(), now(), '2001-01-01', 1, 1, 0, 'completed', '0');
select queue_complete('forever', 1, 1);
select queue_alter('forever', archive_keep => '1000 days');
select queue_complete('forever', 2, 1);
select old_jobs('forever');
call prepare('triggered');
create function note() returns trigger language plpgsql as $$ begin raise warning 'called'; return null; end $$;
create trigger note after delete on triggered_archive for each row execute function note();
select queue_complete('triggered', 1, 1);
select old_jobs('triggered');
call prepare('referred');
create table referring (id bigint, slot int2, foreign key (id, slot) references referred_archive deferrable initially deferred);
insert into referring select id, slot from referred_archive limit 1;
select queue_complete('referred', 1, 1);
select old_jobs('referred');
create role regress_keep_completion;
grant usage, create on schema test_keep_completion to regress_keep_completion;
call prepare('given');
alter table given_archive owner to regress_keep_completion;
select queue_complete('given', 1, 1);
select old_jobs('given');
call prepare('hidden');
do $$ declare slot regclass; begin
	for slot in select inhrelid from pg_inherits where inhparent = 'hidden_archive'::regclass loop
		execute format('alter table %s enable row level security, force row level security, owner to regress_keep_completion', slot);
	end loop;
	alter table hidden owner to regress_keep_completion;
	alter table hidden_archive owner to regress_keep_completion;
end $$;
select queue_complete('hidden', 1, 1);
select old_jobs('hidden');

-- By a worker without the right to truncate the archive, or to delete from it; and by one that is another when it commits.
call prepare('worked');
grant select, update, delete on worked to regress_keep_completion;
grant select, insert on worked_archive to regress_keep_completion;
set role regress_keep_completion;
select queue_complete('worked', 1, 1);
reset role;
select old_jobs('worked');
call prepare('defined');
create function done(id bigint) returns boolean language plpgsql security definer as $$ begin return queue_complete('defined', id, 1); end $$;
set role regress_keep_completion;
select done(1);
select current_user, current_setting('search_path'), current_setting('lock_timeout');
reset role;
select old_jobs('defined');
-- A slot with code of users is left to queue_maintain, without a word in the log.
call prepare('checked');
create function plain(state text) returns boolean language plpgsql immutable as 'begin return state is not null; end';
alter table checked_archive add check (plain(state));
grant select, update, delete on checked to regress_keep_completion;
grant insert, select on checked_archive to regress_keep_completion;
set role regress_keep_completion;
select queue_complete('checked', 1, 1);
reset role;
select old_jobs('checked');
call queue_maintain('checked');
select old_jobs('checked');

-- Dropped, detached, renamed or replaced by the same transaction.
call prepare('gone');
do $$ begin
	perform queue_complete('gone', 1, 1);
	perform queue_drop('gone');
end $$;
call prepare('left_behind');
do $$ begin
	perform queue_complete('left_behind', 1, 1);
	perform queue_detach('left_behind');
end $$;
select old_jobs('left_behind');
call prepare('moved');
do $$ begin
	perform queue_complete('moved', 1, 1);
	alter table moved_archive rename to moved_history;
end $$;
select count(*) from moved_history where finished_at < now() - interval '6000 days';

drop schema test_keep_completion cascade;
drop role regress_keep_completion;
