-- no_worker told of a queue that was made a moment ago that nobody had looked for its jobs for as long as the server was
-- up: from the run_at on of a job that was sent late.
set client_min_messages = warning;
create schema test_health_no_worker;
set search_path = test_health_no_worker, public;
create function waited(name text) returns table (finding text, detail text) language sql as $$
	select finding, regexp_replace(detail, 'for \d+ s', 'for few s') from queue_health(name) where finding in ('no_worker', 'ready_job_old')
$$;
-- The server has been up for longer.
do $$ begin
	while clock_timestamp() < pg_postmaster_start_time() + '61 seconds' loop
		perform pg_sleep(0.1);
	end loop;
end $$;
set queue_ext.health_patience = '60 s';
select queue_create('late');
select queue_send('late', '1', run_at => now() - interval '1 hour');
select queue_send('late', '1', run_at => '-infinity');
select * from waited('late');
-- Behind more leased jobs than are read the statistics tell, since their beginning.
select queue_create('deep');
select queue_send('deep', '2', priority => 1, run_at => now() - interval '1 hour');
insert into deep (payload, run_at, leased_until, attempt) select '1', now(), 'infinity', 1 from generate_series(1, 40);
select * from waited('deep');
-- It was made a while ago.
update late set created_at = now() - interval '61 seconds' where payload = '1';
select finding from waited('late');
drop schema test_health_no_worker cascade;
