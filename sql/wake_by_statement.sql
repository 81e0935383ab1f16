-- What is sent by a statement, since the table has a trigger of its own, and without the
-- extension's, is preferred at once: before what a full ring holds.
set client_min_messages = warning;
create schema test_wake_by_statement;
set search_path = test_wake_by_statement, public;
set queue_ext.claim_path = direct;
select queue_create('jobs', lease => '1 hour');
create function keep() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger own before insert on jobs for each row execute function keep();
drop trigger queue_ext_wake on jobs;
select count(*) from queue_send_many('jobs', array_fill('1'::jsonb, array[900]), 100);

-- After a command has committed, the first claims are of what it has made claimable. A
-- look at the head that the clock brings would hide that it did not: so three times over.
create procedure first_after(command text, inout priorities text, wanted integer default 1) language plpgsql as $$
begin
	for i in 1 .. 3 loop
		perform queue_pop('jobs');
		commit;
		execute command;
		commit;
		priorities := concat_ws(', ', priorities, (select string_agg(priority::text, ' ' order by id) from queue_pop('jobs', wanted)));
		commit;
	end loop;
end $$;
call first_after($$select queue_send('jobs', '2', -1)$$, null);
call first_after($$select queue_send_many('jobs', '{2,3}', -2)$$, null, 2);
call first_after($$select queue_unique_insert('jobs', to_jsonb(clock_timestamp()), priority => -3)$$, null);
call first_after($$select queue_unique_insert_many('jobs', array[to_jsonb(clock_timestamp())], priority => -4)$$, null);

-- A table of one's own, without a trigger.
create table t (id integer primary key, rank integer not null, state integer not null default 0);
create index on t (rank, id) where state = 0;
select queue_attach('t', 't', 'state = 0', 'rank, id', 'state = 1');
insert into t select n, 100 from generate_series(1, 900) as n;
create procedure first_row_after(inout ranks text) language plpgsql as $$
begin
	for i in 1 .. 3 loop
		perform queue_pop_rows(null::t);
		commit;
		perform queue_unique_insert_row(row(-i, -i, 0)::t, '{id}');
		commit;
		ranks := concat_ws(', ', ranks, (select rank from queue_pop_rows(null::t)));
		commit;
		perform queue_unique_insert_rows(array[row(-i - 100, -i - 100, 0)::t], '{id}');
		commit;
		ranks := concat_ws(', ', ranks, (select rank from queue_pop_rows(null::t)));
		commit;
	end loop;
end $$;
call first_row_after(null);
drop schema test_wake_by_statement cascade;
