-- A lease that ends is known to the ring, also over a sweep that comes before: as soon as
-- it is over the job is preferred, and not only when the clock brings the next sweep. Also if
-- it was claimed in a savepoint, and the transaction had claimed before.
set client_min_messages = warning;
create schema test_sweep_lease;
set search_path = test_sweep_lease, public;
set queue_ext.claim_path = direct;
select queue_create('jobs', lease => '1 hour');
select queue_send('jobs', '"first"', -1);
select queue_send('jobs', '"before it"', -2);
select count(*) from queue_send_many('jobs', array_fill('1'::jsonb, array[900]));

-- Each round: the first job is claimed for a moment, a rolled back update has the next
-- claim sweep, and the claim after the moment is of the first job again. Three times
-- over, since a sweep by the clock would do, too; a round in which the moment was over
-- before the sweep does not count.
create procedure rounds(inout swept text, inout jobs text) language plpgsql as $$
declare
	sweeps_before bigint;
	until timestamptz;
	other bigint;
	attempts integer;
	before bigint;
	before_attempts integer;
	counted integer := 0;
	brief interval := '20 ms';
begin
	while counted < 3 loop
		select id, attempt into before, before_attempts from queue_pop('jobs');
		begin
			select leased_until into strict until from queue_pop('jobs', lease => brief) where id = 1;
		exception when division_by_zero then
		end;
		commit;
		begin
			update jobs set last_error = 'x' where id = 900;
			raise sqlstate 'UNDO0';
		exception when sqlstate 'UNDO0' then
		end;
		commit;
		select sweeps into sweeps_before from queue_claim_stats where source = 'jobs'::regclass;
		select id, attempt into other, attempts from queue_pop('jobs');
		commit;
		if other <> 1 then
			swept := concat_ws(' ', swept, (select sweeps > sweeps_before from queue_claim_stats where source = 'jobs'::regclass));
			while clock_timestamp() <= until loop
			end loop;
			jobs := concat_ws(' ', jobs, (select id from queue_pop('jobs', lease => '1 microsecond')));
			counted := counted + 1;
			brief := greatest(brief / 2, '20 ms');
		else
			perform queue_release('jobs', 1, attempts);
			brief := 2 * brief;
		end if;
		perform queue_release('jobs', before, before_attempts);
		commit;
	end loop;
end $$;
call rounds(null, null);
-- Also if the transaction had read the table before, and found nothing; else the ring believes that the queue is empty.
select queue_create('empty', lease => '1 hour');
begin;
select count(*) from queue_pop('empty');
savepoint s;
select queue_send('empty', '1') is not null as sent;
select payload, attempt from queue_pop('empty', lease => '1 millisecond');
release s;
commit;
do $$ begin
	while clock_timestamp() <= (select leased_until from empty) loop
	end loop;
end $$;
select payload, attempt from queue_pop('empty');
-- The ring is told the moment alone of a claim by TID, and not the row.
set queue_ext.claim_path = tid;
call rounds(null, null);
-- Where more leases end than the ring lists, also over a sweep that does not ask for them, as its transaction has an XID.
set queue_ext.claim_path = direct;
create table task (id bigint primary key, taken_until timestamptz);
select queue_attach('task', 'task', pending => 'taken_until is null or taken_until <= call_time', order_by => 'id',
	on_claim => 'taken_until = call_time + lease', lease => '1 hour', wake => true);
insert into task select i from generate_series(1, 5000) as i;
create procedure rounds_of_many(inout swept text, inout jobs text) language plpgsql as $$
declare
	until timestamptz;
	sweeps_before bigint;
	first bigint;
	brief interval := '50 ms';
	counted integer := 0;
begin
	while counted < 3 loop
		update task set taken_until = null where taken_until is not null;
		commit;
		select max(taken_until) into until from queue_pop_rows(null::task, 'task', 600, lease => brief);
		commit;
		-- More than the log keeps.
		insert into task select max + i from (select max(id) from task) as t, generate_series(1, 1000) as i;
		commit;
		select sweeps into sweeps_before from queue_claim_stats where source = 'task'::regclass;
		perform pg_current_xact_id();
		select id into first from queue_pop_rows(null::task, 'task');
		commit;
		if first > 600 then
			swept := concat_ws(' ', swept, (select sweeps > sweeps_before from queue_claim_stats where source = 'task'::regclass));
			while clock_timestamp() <= until loop
			end loop;
			jobs := concat_ws(' ', jobs, (select max(id) from queue_pop_rows(null::task, 'task', 600)));
			counted := counted + 1;
			brief := greatest(brief / 2, '50 ms');
		else
			brief := 2 * brief;
		end if;
		commit;
	end loop;
end $$;
call rounds_of_many(null, null);
drop schema test_sweep_lease cascade;
