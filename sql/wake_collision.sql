-- Of many queues, what is sent to one is no reason for another to look at its table.
set client_min_messages = error;
create schema test_wake_collision;
set search_path = test_wake_collision, public;
set queue_ext.claim_path = direct;

-- Some that are asked, as many that are sent to, and many attached ones.
create procedure set_up() language plpgsql as $$
begin
	for n in 1 .. 60 loop
		perform queue_create('asked_' || n), queue_create('sent_' || n);
		commit;
	end loop;
	for n in 1 .. 200 loop
		execute format('create table own_%s (id integer generated always as identity primary key, done boolean not null default false)', n);
		perform queue_attach('own_' || n, ('own_' || n)::regclass, 'not done', 'id', 'done = true', wake => true);
		commit;
	end loop;
end $$;
call set_up();

create function pop(low integer, high integer, out jobs bigint) language sql volatile
return (select count(*) from generate_series(low, high) as n, queue_pop('asked_' || n));

-- To twenty of them.
create procedure send(part integer) language plpgsql as $$
begin
	for n in 1 + 20 * (part - 1) .. 20 * part loop
		if n <= 60 then
			perform queue_send('sent_' || n, '1');
		else
			execute format('insert into own_%s default values', n - 60);
		end if;
	end loop;
end $$;

-- How many of those asked have looked again. The clock makes them, too, so not at once.
create procedure ask(inout looked bigint) language plpgsql as $$
declare
	swept bigint;
begin
	looked := 0;
	for low in 1 .. 60 by 10 loop
		for part in 1 .. 13 loop
			for try in 1 .. 300 loop
				perform pop(low, low + 9);
				perform queue_claim_stats_reset();
				commit;
				call send(part);
				commit;
				perform pop(low, low + 9);
				select sum(sweeps) into swept from queue_claim_stats
				where source in (select ('asked_' || n)::regclass from generate_series(low, low + 9) as n);
				exit when swept = 0;
			end loop;
			looked := looked + swept;
		end loop;
	end loop;
end $$;

-- Each has been asked once.
select count(*) from generate_series(1, 60) as n, queue_pop('sent_' || n);
select pop(1, 60);
call ask(null);
-- And what is sent is found.
select count(*) > 0 as sent, count(*) = count(distinct n) as each from generate_series(1, 60) as n, queue_pop('sent_' || n);

create procedure clean_up() language plpgsql as $$
begin
	for n in 1 .. 60 loop
		perform queue_drop('asked_' || n), queue_drop('sent_' || n);
		commit;
	end loop;
	for n in 1 .. 200 loop
		execute format('drop table own_%s', n);
		commit;
	end loop;
end $$;
call clean_up();
drop schema test_wake_collision cascade;
