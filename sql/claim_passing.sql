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
create function nothing() returns trigger language plpgsql as 'begin return new; end';
-- Two claims, and a third 0.9 seconds later: what they got and what the ring has counted, of the first of forty tries
-- with new tables in which the machine let them follow each other in time.
create procedure try(path text) language plpgsql as $$
declare
	pop text := $q$select concat_ws(' ', $1, string_agg(id::text, ',')) from queue_pop_rows(null::doors, max_jobs => $2)$q$;
	began timestamptz;
	claimed text;
	is_late boolean;
begin
	perform set_config('queue_ext.claim_path', path, false);
	for i in 1 .. 40 loop
		create table doors (id integer primary key, state integer not null default 0);
		create index on doors (id) where state = 0;
		if path = 'tid' then
			create trigger nothing before update on doors for each row execute function nothing();
		end if;
		insert into doors select generate_series(0, 240);
		perform queue_attach('doors', 'doors', 'state = 0 and is_open(id)', 'id', 'state = 1');
		commit;
		began := clock_timestamp();
		perform set_config('test.closed', 'no', false);
		execute pop into claimed using null::text, 1;
		commit;
		perform set_config('test.closed', 'yes', false);
		is_late := clock_timestamp() > began + interval '0.5 s';
		execute pop into claimed using claimed, 1;
		commit;
		perform pg_sleep(0.9);
		commit;
		execute pop into claimed using claimed, 3;
		is_late := is_late or clock_timestamp() > began + interval '4 s';
		commit;
		if not is_late then
			raise info '%: claimed %; sweeps and not pending: %', path, claimed,
				(select (sweeps, not_pending) from queue_claim_stats where source = 'doors'::regclass);
		end if;
		perform queue_detach('doors');
		drop table doors;
		commit;
		if not is_late then
			return;
		end if;
	end loop;
	raise 'the machine stalls';
end $$;
call try('direct');
call try('tid');
drop schema test_claim_passing cascade;
