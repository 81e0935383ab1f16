-- Makes the role with which exporters look at a database. Run it there, as a superuser, where the extension has been
-- created; in each further database only the last statement.
create role queue_monitor login connection limit 5;
grant pg_monitor to queue_monitor;
-- For what queue_health tells of jobs; without it that is left out. Or grant SELECT on the tables of the
-- queues and on their sequences.
grant pg_read_all_data to queue_monitor;
-- Looking must not take long, nor wait.
alter role queue_monitor set statement_timeout = '5 s';
alter role queue_monitor set lock_timeout = '1 s';
alter role queue_monitor set default_transaction_read_only = on;
-- The queries do not name the schema of the extension.
do $$
begin
	execute (select format('alter role queue_monitor in database %I set search_path = %I', current_database(), n.nspname)
		from pg_extension as e join pg_namespace as n on n.oid = e.extnamespace where e.extname = 'queue_ext');
end
$$;
