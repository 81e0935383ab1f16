-- A sweep is put off by what its candidates cost that are tried in vain, as it is measured. Here the
-- condition takes a millisecond for each of two hundred rows, which are no longer pending when they
-- are tried (by a function that is not really immutable): so there is no other sweep for seconds. The
-- sweep itself puts off the next one by half a second.
set client_min_messages = error;
create schema test_claim_passing;
set search_path = test_claim_passing, public;
create function is_open(id integer) returns boolean immutable language plpgsql as $$
begin
	if id = 0 then
		perform pg_sleep(0.03);
	end if;
	if id > 200 or current_setting('test.closed') <> 'yes' then
		return true;
	end if;
	perform pg_sleep(0.001);
	return false;
end $$;
create table doors (id integer primary key, state integer not null default 0);
create index on doors (id) where state = 0;
create table gates (like doors including all);
create function nothing() returns trigger language plpgsql as 'begin return new; end';
create trigger nothing before update on gates for each row execute function nothing();
insert into doors select generate_series(0, 240);
insert into gates select generate_series(0, 240);
select queue_attach('doors', 'doors', 'state = 0 and is_open(id)', 'id', 'state = 1');
select queue_attach('gates', 'gates', 'state = 0 and is_open(id)', 'id', 'state = 1');
-- Directly.
set queue_ext.claim_path = direct;
set test.closed = 'no';
select id from queue_pop_rows(null::doors);
set test.closed = 'yes';
select id from queue_pop_rows(null::doors);
select pg_sleep(0.9);
select id from queue_pop_rows(null::doors, max_jobs => 3);
select sweeps, not_pending from queue_claim_stats where source = 'doors'::regclass;
-- By TID.
set queue_ext.claim_path = tid;
set test.closed = 'no';
select id from queue_pop_rows(null::gates);
set test.closed = 'yes';
select id from queue_pop_rows(null::gates);
select pg_sleep(0.9);
select id from queue_pop_rows(null::gates, max_jobs => 3);
select sweeps, not_pending from queue_claim_stats where source = 'gates'::regclass;
drop schema test_claim_passing cascade;
