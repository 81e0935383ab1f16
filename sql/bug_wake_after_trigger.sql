-- A trigger that is fired before queue_ext_wake, by its name, writes the row again: the queue is told of the version that
-- there is then. (It was told of the former one last, and did not find the job in its turn.)
set client_min_messages = error;
set queue_ext.claim_path = direct;
create schema bug_wake_after_trigger;
set search_path = bug_wake_after_trigger, public;
select queue_create('jobs');
create function enrich() returns trigger language plpgsql as $$ begin
	if new.payload = '"remove"' then
		delete from jobs where id = new.id;
	else
		update jobs set payload = new.payload || '["enriched"]' where id = new.id;
	end if;
	return null;
end $$;
create trigger a_enrich after insert on jobs for each row execute function enrich();
select count(*) from queue_send_many('jobs', '{1,2,3}');
select payload from queue_pop('jobs');
select queue_send('jobs', '"sent"', priority => -10);
select payload from queue_pop('jobs');
insert into jobs (payload, priority) values ('"inserted"', -9);
select payload from queue_pop('jobs');
select queue_send('jobs', '"remove"', priority => -10);
select payload from queue_pop('jobs');
select coalesce(sum(gone), 0) as gone from queue_claim_stats where source = 'jobs'::regclass;
-- The queue's numbers are right, too.
select sent, claimed, ready, ready_exact from queue_stats where source = 'jobs'::regclass;
-- What the trigger has written and taken back is nothing.
create or replace function enrich() returns trigger language plpgsql as $$ begin
	update jobs set priority = 100 where id = new.id;
	raise division_by_zero;
exception when division_by_zero then
	return null;
end $$;
select queue_send('jobs', '"as sent"', priority => -10);
select payload, priority from queue_pop('jobs');
select queue_drop('jobs');
drop schema bug_wake_after_trigger cascade;
