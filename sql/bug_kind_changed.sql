-- A job whose kind its sender changes, before the commit, comes in its turn: the ring has been given its former version last.
set client_min_messages = warning;
create schema test_kind_changed;
set search_path = test_kind_changed, public;
select queue_create('jobs', kinds => true);
create function round(path text, out first bigint, out of_kind bigint, out rest bigint[]) language plpgsql as $$ begin
	perform set_config('queue_ext.claim_path', path, true);
	select p.id into first from queue_pop('jobs') as p;
	select p.id into of_kind from queue_pop('jobs', kinds => '{c}') as p;
	select array_agg(p.id order by p.id) into rest from queue_pop('jobs', 10) as p;
	truncate jobs restart identity;
end $$;
-- There are rings for kinds, and all have read the table to its end.
select count(*) from queue_pop('jobs', kinds => '{c}');
select count(*) from queue_pop('jobs', kinds => '{a}');
select count(*) from queue_pop('jobs');
begin;
select queue_send_many('jobs', '{1,2,3}', kind => 'a');
update jobs set kind = 'c' where id in (1, 3);
commit;
select * from round('auto');
select count(*) from queue_pop('jobs', kinds => '{c}');
select count(*) from queue_pop('jobs', kinds => '{a}');
select count(*) from queue_pop('jobs');
begin;
select queue_send_many('jobs', '{1,2,3}', kind => 'a');
savepoint s;
update jobs set kind = 'c' where id in (1, 3);
release s;
commit;
select * from round('tid');
-- As well where they are to come.
select count(*) from queue_pop('jobs', kinds => '{c}');
select count(*) from queue_pop('jobs', kinds => '{a}');
select count(*) from queue_pop('jobs');
begin;
select queue_send_many('jobs', '{1,2,3}', run_at => now() + '0.5 s', kind => 'a');
update jobs set kind = 'c' where id in (1, 3);
commit;
do $$ begin
	while exists (select from jobs where run_at > clock_timestamp()) loop
		perform pg_sleep(0.01);
	end loop;
end $$;
select * from round('auto');
-- And where a write that kept the kind came between.
insert into jobs (payload, priority, kind) select '0', 100, (array['a', 'c', null])[1 + n % 3] from generate_series(1, 1500) as n;
select p.priority from queue_pop('jobs') as p;
select p.priority from queue_pop('jobs', kinds => '{a,c}') as p;
begin;
select queue_send('jobs', '1', kind => 'a') as sent \gset
update jobs set payload = '2' where id = :sent;
update jobs set kind = 'c' where id = :sent;
commit;
select payload from queue_pop('jobs');
begin;
select queue_send('jobs', '3', run_at => now() + '0.5 s', kind => 'a') as sent \gset
update jobs set payload = '4' where id = :sent;
savepoint s;
update jobs set payload = '5' where id = :sent;
update jobs set kind = 'c' where id = :sent;
commit;
do $$ begin
	while exists (select from jobs where run_at > clock_timestamp()) loop
		perform pg_sleep(0.01);
	end loop;
end $$;
select payload from queue_pop('jobs');
drop schema test_kind_changed cascade;
