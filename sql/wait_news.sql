-- A job is committed between a look in vain and the sleep: the one that looked is not in the list yet, and sees
-- by its ticket that there is news. Else it would sleep until its time is over, as the look has shown that the
-- queue is idle, which is believed for a minute.
create schema test_wait_news;
set search_path = test_wait_news, public;
set queue_ext.claim_path = auto;
create table t (id integer primary key, state text not null default 'new');
create index on t (id) where state = 'new';
-- The look itself has a deferred trigger insert the job as its transaction commits.
create table u (n integer);
create function insert_late() returns trigger language plpgsql as $$
begin
	insert into t values (new.n);
	return null;
end $$;
create constraint trigger late after insert on u deferrable initially deferred for each row execute function insert_late();
create function write_once() returns boolean volatile language plpgsql as $$
begin
	if current_setting('test.next', true) <> '' then
		insert into u values (current_setting('test.next')::integer);
		perform set_config('test.next', '', false);
	end if;
	return false;
end $$;
create function look(id integer) returns boolean immutable language plpgsql as $$
begin
	return id > 0 or (select write_once());
end $$;
select queue_attach('t', 't', pending => $$state = 'new' and look(id)$$, order_by => 'id', on_claim => $$state = 'done'$$, wake => true);
insert into t values (0);
select count(*) from queue_pop_rows(null::t);

create procedure wait(inout in_time boolean default null) language plpgsql as $$
declare
	until timestamptz := clock_timestamp() + '55 s';
begin
	call queue_wait('t', '55 s');
	in_time := clock_timestamp() < until;
end $$;
-- Rows that are not pending have the next look read the table.
insert into t values (-1);
set test.next = 1;
call wait();
select id from queue_pop_rows(null::t);
insert into t values (-2);
set test.next = 2;
call wait();
select id from queue_pop_rows(null::t);
call queue_wait('t', '0');
select count(*) from queue_pop_rows(null::t);

drop schema test_wait_news cascade;
