-- Another server, with the same schedule, which asks for the job in the same queue:
--
--     psql -d shop -v host=db1.example.com -v dbname=shop -v user=shop_cron -f other-server.sql
--
-- Run it once, in the database that cron.database_name names, as a superuser. The user
-- is one of the queue's server; dblink finds its password in ~/.pgpass of whom this
-- server runs as.

create extension pg_cron;
create extension dblink;

create server queue_server foreign data wrapper dblink_fdw
	options (host :'host', dbname :'dbname');
create user mapping for current_user server queue_server options (user :'user');

select cron.schedule('hourly report', '*/5 * * * *', $$
	select id, inserted
	from dblink('queue_server', $there$
		select id, inserted
		from queue_unique_insert('chores', '{"do": "hourly report"}', period => '1 hour')
	$there$) as job (id bigint, inserted boolean)
$$);
