-- A queue is idle only as long as every insert and update is told of: not with a trigger
-- that has a WHEN, that is of some columns, of one event, or not of every session.
set client_min_messages = warning;
create schema test_wake_trusted;
set search_path = test_wake_trusted, public;
set queue_ext.claim_path = direct;
select queue_create('jobs', lease => '1 hour');
create table t (id bigint generated always as identity primary key, state integer not null default 0);
create index on t (id) where state = 0;
select queue_attach('t', 't', 'state = 0', 'id', 'state = 1');

-- Whether what comes while nothing is claimable is found by the next claim. A look at
-- the head that the clock brings would hide that it is not: so five times over.
create procedure finds(trigger text, inout jobs text, inout rows text) language plpgsql as $$
begin
	drop trigger if exists queue_ext_wake on jobs;
	drop trigger if exists queue_ext_wake on t;
	execute format('create trigger queue_ext_wake %s', format(trigger, 'jobs'));
	execute format('create trigger queue_ext_wake %s', format(trigger, 't'));
	commit;
	for i in 1 .. 5 loop
		perform queue_pop('jobs'), queue_pop_rows(null::t);
		commit;
		set session_replication_role = replica;
		insert into jobs (payload) values ('1');
		insert into t default values;
		commit;
		reset session_replication_role;
		jobs := concat_ws(' ', jobs, (select count(*) from queue_pop('jobs')));
		rows := concat_ws(' ', rows, (select count(*) from queue_pop_rows(null::t)));
		commit;
	end loop;
end $$;
call finds('after insert or update on %s for each row execute function queue_wake()', null, null);
-- These fire always, and not for everything.
create procedure finds_enabled(trigger text, inout jobs text, inout rows text) language plpgsql as $$
begin
	drop trigger if exists queue_ext_wake on jobs;
	drop trigger if exists queue_ext_wake on t;
	execute format('create trigger queue_ext_wake %s', format(trigger, 'jobs'));
	execute format('create trigger queue_ext_wake %s', format(trigger, 't'));
	alter table jobs enable always trigger queue_ext_wake;
	alter table t enable always trigger queue_ext_wake;
	commit;
	for i in 1 .. 5 loop
		perform queue_pop('jobs'), queue_pop_rows(null::t);
		commit;
		insert into jobs (payload) values ('1');
		insert into t default values;
		commit;
		jobs := concat_ws(' ', jobs, (select count(*) from queue_pop('jobs')));
		rows := concat_ws(' ', rows, (select count(*) from queue_pop_rows(null::t)));
		commit;
		perform queue_pop('jobs'), queue_pop_rows(null::t);
		commit;
		update jobs set leased_until = null where leased_until is not null;
		update t set state = 0 where state = 1;
		commit;
		jobs := concat_ws(' ', jobs, (select count(*) from queue_pop('jobs', 1000)) = i);
		rows := concat_ws(' ', rows, (select count(*) from queue_pop_rows(null::t, max_jobs => 1000)) = i);
		commit;
	end loop;
end $$;
create procedure empty() language sql begin atomic
	delete from jobs;
	delete from t;
end;
call empty();
call finds_enabled('after insert or update on %s for each row when (new.id < 0) execute function queue_wake()', null, null);
call empty();
call finds_enabled('after insert on %s for each row execute function queue_wake()', null, null);
call empty();
call finds_enabled('after update on %s for each row execute function queue_wake()', null, null);
call empty();
call finds_enabled('after insert or update of id on %s for each row execute function queue_wake()', null, null);
call empty();
-- This one is told of everything.
call finds_enabled('after insert or update on %s for each row execute function queue_wake()', null, null);
drop schema test_wake_trusted cascade;
