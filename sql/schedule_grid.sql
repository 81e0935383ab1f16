-- When the occurrences of a schedule come: intervals, cron expressions, time zones and their clock
-- changes.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create schema test_schedule_grid;
set search_path = test_schedule_grid, public;
set timezone = 'Asia/Tokyo'; -- no schedule's
set datestyle = 'ISO';
select queue_create('jobs');

-- The first n occurrences from a moment in the past, as a clock in the zone shows them. The rule is
-- that none is left out, so each claim is followed by the next one.
create function occurrences(start text, n integer, zone text, every interval default null, cron text default null)
returns setof text language plpgsql as $$
declare
	begins timestamptz := start;
	job queue_job;
begin
	perform queue_schedule('jobs', 's', every => every, cron => cron, time_zone => zone, missed => 'all');
	update queue_schedule_definition set next_run_at = begins where source = 'jobs'::regclass;
	update jobs set run_at = begins where attempt = 0;
	for i in 1 .. n loop
		select * into strict job from queue_pop('jobs');
		perform queue_complete('jobs', job.id, job.attempt);
		return next (job.run_at at time zone 'UTC') || ' UTC, ' || (job.run_at at time zone zone) || ' there';
	end loop;
	perform queue_unschedule('jobs', 's');
end $$;

-- A day is the same time of day again, 24 hours are not.
select * from occurrences('2025-03-29 01:30Z', 3, 'Europe/Berlin', '1 day');
select * from occurrences('2025-03-29 01:30Z', 3, 'Europe/Berlin', '24 hours');
select * from occurrences('2025-10-25 00:30Z', 3, 'Europe/Berlin', '1 day');
select * from occurrences('2025-10-26 00:00Z', 4, 'Europe/Berlin', '30 minutes');
-- A month's end is not found again.
select * from occurrences('2025-01-31 12:00Z', 4, 'UTC', '1 month');
select * from occurrences('2025-01-01 12:00Z', 3, 'UTC', '1 month 2 days 3 hours');

-- The clock goes from 02:00 to 03:00. Any time that it skips is meant an hour later ...
select * from occurrences('2025-03-29 01:30Z', 3, 'Europe/Berlin', cron => '30 2 * * *');
select * from occurrences('2025-03-30 00:30Z', 6, 'Europe/Berlin', cron => '*/30 1-3 * * *');
select * from occurrences('2025-03-30 00:40Z', 4, 'Europe/Berlin', cron => '10,40 1,2,4 * * *');
-- ... unless the schedule has all hours.
select * from occurrences('2025-03-30 00:00Z', 4, 'Europe/Berlin', cron => '15,45 * * * *');
select * from occurrences('2025-03-30 00:00Z', 3, 'Europe/Berlin', cron => '@hourly');
-- The clock shows the hour from 02:00 on twice. The first is meant ...
select * from occurrences('2025-10-25 00:30Z', 3, 'Europe/Berlin', cron => '30 2 * * *');
select * from occurrences('2025-10-26 00:00Z', 4, 'Europe/Berlin', cron => '*/30 2,3 * * *');
-- ... and both, if the schedule has all hours.
select * from occurrences('2025-10-26 00:00Z', 5, 'Europe/Berlin', cron => '*/30 * * * *');
select * from occurrences('2025-10-25 23:00Z', 5, 'Europe/Berlin', cron => '@hourly');
-- Half an hour, and a day.
select * from occurrences('2025-04-05 14:15Z', 3, 'Australia/Lord_Howe', cron => '45 1 * * *');
select * from occurrences('2025-04-05 14:15Z', 5, 'Australia/Lord_Howe', cron => '*/15 * * * *');
select * from occurrences('2011-12-29 22:00Z', 3, 'Pacific/Apia', cron => '0 12 * * *');
select * from occurrences('2011-12-28 22:00Z', 4, 'Pacific/Apia', '1 day');
-- West of Greenwich, and before 1970.
select * from occurrences('2025-03-08 07:30Z', 3, 'America/New_York', cron => '30 2 * * *');
select * from occurrences('1969-12-31 23:58Z', 4, 'UTC', cron => '* * * * *');
-- Days.
select * from occurrences('2025-02-14 00:00Z', 5, 'UTC', cron => '0 0 13,14 * fri');
select * from occurrences('2024-02-29 00:00Z', 1, 'UTC', cron => '0 0 29 feb *');
select queue_schedule('jobs', 's', cron => '0 0 29 2 *', starts_at => '2096-03-01Z') at time zone 'UTC' as leap;

-- The first occurrence.
create function first(starts_at timestamptz, every interval default null, cron text default null, zone text default 'UTC')
returns timestamp language sql as $$
	select queue_schedule('jobs', 's', every, cron, starts_at => starts_at, time_zone => zone) at time zone 'UTC'
$$;
select first('2090-01-01 10:20:30Z', '1 hour') as starts, first('2090-01-01 10:20:30Z', cron => '@hourly') as after,
	first('2090-01-01 10:00:00Z', cron => '@hourly') as at, first('2090-01-01 10:00:00.000001Z', cron => '@hourly') as later;
-- One in the past begins the grid only.
select moment > now() and moment <= now() + '7 minutes' and extract(epoch from moment - '2020-01-01 00:00:30Z') % 420 = 0 as on_grid
from queue_schedule('jobs', 's', '7 minutes', starts_at => '2020-01-01 00:00:30Z') as moment;
select moment > now() and moment <= now() + '1 month' and extract(day from moment at time zone 'UTC') = 3 as on_grid
from queue_schedule('jobs', 's', '1 month', starts_at => '2001-01-03 04:05:06Z') as moment;
select moment > now() and moment <= now() + '1 day' and (moment at time zone 'Europe/Berlin')::time = '12:34' as on_grid
from queue_schedule('jobs', 's', '1 day', starts_at => '2020-07-01 12:34 Europe/Berlin', time_zone => 'Europe/Berlin') as moment;
select moment > now() and moment <= now() + '1 minute' and extract(second from moment) = 0 as on_grid
from queue_schedule('jobs', 's', cron => '* * * * *', starts_at => '2001-01-03 04:05:06Z') as moment;
select moment between now() + '90 minutes' and clock_timestamp() + '90 minutes' as from_now
from queue_schedule('jobs', 's', '90 minutes') as moment;

\set VERBOSITY sqlstate
select first('294276-12-31 23:59:30Z', cron => '0 0 1 1 *');
select first('infinity', '1 hour');
select first(null, '300000 years');

drop schema test_schedule_grid cascade;
