-- A transaction that has written sees the queue as nobody else does: that it finds
-- nothing does not make the queue idle. (Others' claims, and its own after a rollback.)
set client_min_messages = warning;
create schema test_wake_own_number;
set search_path = test_wake_own_number, public;
set queue_ext.claim_path = direct;
select queue_create('jobs', lease => '1 hour');
create table t (id bigint generated always as identity primary key, state integer not null default 0);
create index on t (id) where state = 0;
select queue_attach('t', 't', 'state = 0', 'id', 'state = 1', wake => true);

-- Five times over, as the clock may bring a look at the head.
create procedure delete_and_undo(inout hidden text, inout jobs text, inout rows text) language plpgsql as $$
begin
	for i in 1 .. 5 loop
		insert into jobs (payload) values ('1');
		insert into t default values;
		commit;
		delete from jobs where leased_until is null;
		delete from t where state = 0;
		hidden := concat_ws(' ', hidden, (select count(*) from queue_pop('jobs')), (select count(*) from queue_pop_rows(null::t)));
		rollback;
		jobs := concat_ws(' ', jobs, (select count(*) from queue_pop('jobs')));
		rows := concat_ws(' ', rows, (select count(*) from queue_pop_rows(null::t)));
		commit;
	end loop;
end $$;
call delete_and_undo(null, null, null);
drop schema test_wake_own_number cascade;
