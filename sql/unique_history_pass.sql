-- What unique inserts keep of done jobs goes when its time is over: a call that adds many
-- makes a pass over at least 500 rows that have expired, and twice as many as it has added.
set client_min_messages = error;
create schema test_history_pass;
set search_path = test_history_pass, public;
select queue_create('jobs');
create procedure expire(n integer) language sql as $$
	insert into queue_unique_job (source, digest, job, expires_at)
	select 'jobs'::regclass, sha256(i::text::bytea), i, '2000-01-01' from generate_series(1, n) as i
$$;
create function added(first integer, n integer) returns bigint language sql as $$
	select count(*) filter (where inserted)
	from queue_unique_insert_many('jobs', (select array_agg(to_jsonb(i)) from generate_series(first, first + n - 1) as i), states => '{done,ready}')
$$;
create view kept as
select count(*) filter (where expires_at < now()) as expired, count(*) filter (where expires_at > now()) as others
from queue_unique_job where source = 'jobs'::regclass;
call expire(700);
select added(1, 100);
select * from kept;
select added(101, 100);
select * from kept;
call expire(1500);
select added(201, 600);
select * from kept;
drop view kept;
select queue_drop('jobs');
drop schema test_history_pass cascade;
