-- queue_stats: how many jobs are in which state, and since when the oldest has been ready, as far as it is
-- known without reading the table.
set client_min_messages = warning;
create schema test_stats_outlook;
set search_path = test_stats_outlook, public;
set queue_ext.claim_path = auto;

-- The age of the oldest in hours; negative were one that is to come.
create function outlook(name text, out ready bigint, out ready_exact boolean, out scheduled bigint, out leased bigint,
	out hours float8, out oldest_exact boolean)
language sql as $$
	select ready, ready_exact, scheduled, leased,
		round(extract(epoch from clock_timestamp() - oldest_ready_at) / 3600), oldest_exact
	from queue_stats where queue = 'test_stats_outlook.' || name
$$;
create function send(name text, hours integer, priority integer default 0, jobs integer default 1) returns void
language sql as $$
	select queue_send_many(name, array_fill('1'::jsonb, array[jobs]), priority, now() - make_interval(hours => hours))
$$;

-- A new queue is empty, and nobody needs to have looked.
select queue_create('jobs', lease => '1 hour') \g (format=unaligned tuples_only=on)
select * from outlook('jobs');
-- Without any worker: a job counts from its run_at, a delayed one not before.
select send('jobs', -1), send('jobs', 2, 5), send('jobs', 3, 7);
select * from outlook('jobs');
-- What comes by plain SQL is seen, what leaves so is not.
insert into jobs (payload, priority, run_at) values ('1', 9, now() - interval '8 hours');
select * from outlook('jobs');
delete from jobs where priority = 9;
select * from outlook('jobs');
-- Until a worker looks.
select priority from queue_pop('jobs');
select * from outlook('jobs');
select priority from queue_pop('jobs');
select * from outlook('jobs');
select priority from queue_pop('jobs');
select * from outlook('jobs');
-- Released, and failed: they are ready, or delayed.
select queue_release('jobs', id, attempt) from jobs where priority = 5;
select * from outlook('jobs');
select queue_fail('jobs', id, attempt, retry_in => '1 hour') from jobs where priority = 7;
select * from outlook('jobs');
select priority from queue_pop('jobs');
select count(*) from queue_pop('jobs');
select * from outlook('jobs');
select queue_complete('jobs', id, attempt) from jobs where priority = 5;
select count(*) from queue_pop('jobs');
select * from outlook('jobs');

-- More jobs than the ring holds: a low priority that no worker reaches keeps its age, and so do the
-- largest priorities together.
select queue_create('many', lease => '1 hour') \g (format=unaligned tuples_only=on)
select count(send('many', 20 + p, p)) from generate_series(2, 30) as p;
select send('many', 1, 1, 700);
select priority, run_at < now() - interval '1 hour' as old from queue_pop('many');
select * from outlook('many');
select count(*) from queue_pop('many', 300);
select * from outlook('many');
select queue_cancel_many('many', array(select id from many where priority > 10 order by id)) is not null as cancelled limit 1;
select * from outlook('many');
select count(*) from queue_pop('many', 10000);
-- A pop need not look for itself whether there are more; for the statistics one does once a second.
select count(*) from queue_pop('many');
do $$ begin
	-- Or later, if the look before has taken long.
	for i in 1 .. 100 loop
		perform pg_sleep(1.1);
		commit;
		perform queue_pop('many');
		commit;
		exit when (select o.ready_exact from outlook('many') as o) or clock_timestamp() > statement_timestamp() + interval '40 s';
	end loop;
end $$;
select * from outlook('many');

-- The largest priority of all is that of the oldest, and was sent first.
select queue_create('few_smaller', lease => '1 hour') \g (format=unaligned tuples_only=on)
select send('few_smaller', 20 + p, p) from generate_series(30, 1, -1) as p \g (format=unaligned tuples_only=on)
select * from outlook('few_smaller');

-- A rollback of claims leaves all as it was.
select queue_create('again', lease => '1 hour') \g (format=unaligned tuples_only=on)
select send('again', 4, 0, 3);
begin;
select count(*) from queue_pop('again', 2);
rollback;
select * from outlook('again');
-- A dead job is none; requeued it is ready from then on.
select queue_fail('again', id, attempt, retry_in => '0') from queue_pop('again');
update again set max_attempts = 1 where attempt = 0;
select count(queue_fail('again', id, attempt)) from queue_pop('again', 3) where attempt = 1;
select count(*) from queue_pop('again', 3);
select * from outlook('again');
select count(*) from queue_requeue_many('again', array(select id from again where dead_at < now()));
select * from outlook('again');

-- Without the trigger nothing is certain.
alter table again disable trigger queue_ext_wake;
select send('again', 7);
insert into again (payload) values ('1');
select queue_release('again', id, attempt) from again where leased_until is not null;
select ready_exact, scheduled, leased, oldest_exact from outlook('again');
-- Nor after TRUNCATE, until a worker looks.
alter table again enable always trigger queue_ext_wake;
truncate again;
select count(*) from queue_pop('again');
select * from outlook('again');

-- A queue that is adopted has rows that nobody knows.
select queue_detach('jobs');
select queue_adopt('jobs');
select * from outlook('jobs');
select count(*) from queue_pop('jobs');
select * from outlook('jobs');
drop schema test_stats_outlook cascade;
