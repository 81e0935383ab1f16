-- The server that has the queue, with a schedule of its own:
--
--     psql -d shop -f queue-server.sql
--
-- Run it once, in the database that cron.database_name names, as a superuser.

create extension pg_cron;
create extension queue_ext;

select queue_create('chores', archive => true);

-- Every five minutes, so that a restart at the full hour costs five minutes and no
-- report. Of the twelve runs of an hour one adds the job, and the others find it, also
-- when it has long been completed.
select cron.schedule('hourly report', '*/5 * * * *', $$
	select id, inserted
	from queue_unique_insert('chores', '{"do": "hourly report"}', period => '1 hour')
$$);
