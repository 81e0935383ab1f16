-- Periods by the clock of a zone: days in which it is changed, hours that it shows twice or not at all.
set client_min_messages = warning;
create schema test_unique_zone;
set search_path = test_unique_zone, public;
select queue_create('jobs');
create function bucket(zone text, at timestamptz, period interval default '1 day') returns timestamptz language sql
return to_timestamp(substring(queue_unique_key('jobs', '1', null, period, at, zone) from 'bucket=(-?[0-9.]+)')::double precision);
set timezone = 'UTC';

-- A day begins at midnight, also if it has 23 or 25 hours; so do weeks.
select zone, day, bucket(zone, (day + time '01:30') at time zone zone) at time zone zone as begins
from unnest('{Europe/Berlin,America/New_York,Asia/Kolkata,Australia/Lord_Howe,America/Havana,UTC}'::text[]) as zone,
	unnest('{2026-03-07,2026-03-08,2026-03-09,2026-03-29,2026-04-05,2026-10-25,2026-10-26,2026-11-01}'::date[]) as day
where bucket(zone, (day + time '01:30') at time zone zone) at time zone zone <> day;
select count(*) as days, count(*) filter (where begins <> date_trunc('day', at, zone)) as wrong
from unnest('{Europe/Berlin,America/New_York,Asia/Kolkata,Australia/Lord_Howe,America/Santiago,Pacific/Apia}'::text[]) as zone,
	generate_series('2026-01-01'::timestamptz, '2026-12-31', '37 minutes') as at, bucket(zone, at) as begins;
select bucket('Europe/Berlin', '2026-10-25 12:00+00', '7 days') at time zone 'Europe/Berlin' as week,
	extract(isodow from bucket('Europe/Berlin', '2026-10-25 12:00+00', '7 days') at time zone 'Europe/Berlin') as begins_on;
-- Midnight that does not exist.
select zone, bucket(zone, at) at time zone zone as begins
from (values ('America/Havana', '2026-03-08 02:00-04'::timestamptz), ('America/Santiago', '2026-09-06 02:00-03'), ('Asia/Beirut', '2026-03-29 05:00+03')) as v(zone, at);
-- Hours: each is one.
select at, bucket('Europe/Berlin', at, '1 hour') from generate_series('2026-10-24 23:30+00'::timestamptz, '2026-10-25 02:30+00', '1 hour') as at;
select at, bucket('Europe/Berlin', at, '12 hours') from generate_series('2026-10-24 21:30+00'::timestamptz, '2026-10-25 23:30+00', '6 hours') as at;
-- No moment is before the beginning of its period, or in two.
select count(*) filter (where begins > at), count(*) filter (where bucket('Europe/Berlin', begins, period) <> begins)
from unnest('{1 hour,90 minutes,6 hours,1 day,3 days}'::interval[]) as period,
	generate_series('2026-10-24'::timestamptz, '2026-10-27', '7 minutes') as at, bucket('Europe/Berlin', at, period) as begins;

-- The daily job at 01:30 of the day after the change is a new one; by UTC it is not.
select zone, array_agg(inserted order by day) from (select zone, day, inserted
	from unnest('{Europe/Berlin,null}'::text[]) with ordinality as z(zone, n),
		unnest('{2026-03-28,2026-03-29,2026-03-30}'::date[]) as day,
		queue_unique_insert('jobs', to_jsonb(n), period => '1 day', run_at => (day + time '01:30') at time zone 'Europe/Berlin', time_zone => nullif(zone, 'null'))) as i
group by zone order by zone;
select count(*) filter (where inserted) from queue_unique_insert_many('jobs', '{"1","1"}', period => '1 day', run_at => '2026-10-25 12:00+01', time_zone => 'Europe/Berlin');
-- The same moments, at the ends of what there is; and no zone.
select queue_unique_key('jobs', '1', null, '1 day', '4714-11-24 00:00+00 BC', 'Europe/Berlin'), queue_unique_key('jobs', '1', null, '1 day', 'infinity', 'Asia/Tokyo'), queue_unique_key('jobs', '1', null, '1 day', '294276-12-31 23:59+00', 'Asia/Tokyo');
select queue_unique_insert('jobs', '1', period => '1 day', time_zone => 'Mars/Olympus');
select queue_unique_insert('jobs', '1', period => '1 day', time_zone => '');
select queue_unique_key('jobs', '1', time_zone => 'Mars/Olympus');
drop schema test_unique_zone cascade;
reset timezone;
