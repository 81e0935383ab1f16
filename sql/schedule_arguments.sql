-- What queue_schedule and queue_unschedule refuse.
\set SHOW_CONTEXT never
set client_min_messages = warning;
create schema test_schedule_arguments;
set search_path = test_schedule_arguments, public;
select queue_create('jobs');
create table t (id bigint primary key, state integer);
select queue_attach('t', 't', 'state = 0', on_claim => 'state = 1');
create function state_of(call text) returns text language plpgsql as $$
begin
	execute 'select ' || call;
	return 'done';
exception when others then
	return sqlstate || ' ' || left(sqlerrm, 60);
end $$;

select call, state_of(call) from unnest(array[
	'queue_schedule(null, ''s'', ''1 hour'')',
	'queue_schedule(''none'', ''s'', ''1 hour'')',
	'queue_schedule(''t'', ''s'', ''1 hour'')',
	'queue_schedule(''jobs'', null, ''1 hour'')',
	'queue_schedule(''jobs'', '''', ''1 hour'')',
	'queue_schedule(''jobs'', ''  '', ''1 hour'')',
	'queue_schedule(''jobs'', repeat(''x'', 256), ''1 hour'')',
	'queue_schedule(''jobs'', ''s'')',
	'queue_schedule(''jobs'', ''s'', ''1 hour'', ''@hourly'')',
	'queue_schedule(''jobs'', ''s'', ''0'')',
	'queue_schedule(''jobs'', ''s'', ''999 milliseconds'')',
	'queue_schedule(''jobs'', ''s'', ''-1 hour'')',
	'queue_schedule(''jobs'', ''s'', ''1 month -1 day'')',
	'queue_schedule(''jobs'', ''s'', ''1 day -1 second'')',
	'queue_schedule(''jobs'', ''s'', ''1 hour'', payload => null)',
	'queue_schedule(''jobs'', ''s'', ''1 hour'', time_zone => null)',
	'queue_schedule(''jobs'', ''s'', ''1 hour'', time_zone => ''Nowhere'')',
	'queue_schedule(''jobs'', ''s'', ''1 hour'', time_zone => '''')',
	'queue_schedule(''jobs'', ''s'', ''1 hour'', time_zone => repeat(''x'', 1000))',
	'queue_schedule(''jobs'', ''s'', ''1 hour'', missed => null)',
	'queue_schedule(''jobs'', ''s'', ''1 hour'', missed => ''never'')',
	'queue_schedule(''jobs'', ''s'', ''1 hour'', starts_at => ''infinity'')',
	'queue_schedule(''jobs'', ''s'', ''1 hour'', starts_at => ''-infinity'')',
	'queue_schedule(''jobs'', ''s'', ''1 hour'', priority => null)',
	'queue_schedule(''jobs'', ''s'', ''1 hour'', priority => 32768)',
	'queue_schedule(''jobs'', ''s'', ''1 hour'', max_attempts => 0)',
	'queue_schedule(''jobs'', ''s'', ''1 hour'', max_attempts => 1000001)',
	'queue_unschedule(null, ''s'')',
	'queue_unschedule(''none'', ''s'')',
	'queue_unschedule(''t'', ''s'')',
	'queue_unschedule(''jobs'', null)',
	'queue_unschedule(''jobs'', '''')']) as call;

-- Cron expressions, and what is not given or known.
\set VERBOSITY sqlstate
select queue_schedule('jobs', 's', cron => '0 25 * * *');
select queue_schedule('jobs', 's', cron => '0 0 30 2 *');
select queue_schedule('jobs', 's', cron => '0 0 * *');
select queue_schedule('jobs', 's', cron => '@fortnightly');
select queue_schedule('jobs', 's', cron => repeat('0,', 500) || '0 * * * *');
select queue_schedule('jobs', 's', cron => '');
select queue_schedule('jobs', 's');
select queue_schedule('jobs', 's', '1 hour', missed => 'x');
select queue_schedule('jobs', 's', '1 hour', time_zone => 'Europe/Atlantis');

-- A read-only transaction.
begin read only;
select queue_schedule('jobs', 's', '1 hour');
rollback;
begin read only;
select queue_unschedule('jobs', 's');
rollback;
\set VERBOSITY default
-- The longest name.
select queue_schedule('jobs', repeat('x', 255), '1 hour') > now() as later;
select count(*) from jobs;

drop schema test_schedule_arguments cascade;
