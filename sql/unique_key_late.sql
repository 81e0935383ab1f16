-- The bucket in a unique key is the Unix time of any moment there is. That of the last 30 years was
-- negative.
set client_min_messages = warning;
create schema test_unique_key_late;
set search_path = test_unique_key_late, public;
set timezone = 'UTC';
select queue_create('q');
create function bucket(moment timestamptz, period interval) returns text language sql as
	$$ select substring(queue_unique_key('q', '1', null, period, moment) from 'bucket=([^|]*)') $$;

select moment, bucket(moment, '1 hour') as hour, bucket(moment, '7 days') as week
from unnest(array['294276-12-31 23:00', '294276-12-31 23:59:59.999999', '294247-01-10 04:00:54.775807', '294246-01-01',
	'2026-11-22 12:34:56.5', '2000-01-01', '1970-01-01', '1969-12-31 23:59:59.5', '4714-11-24 00:00:00 BC',
	'infinity', '-infinity']::timestamptz[]) as moment;
-- To the microsecond. (extract() is exact for moments that are not so late.)
select moment, bucket(moment, '1 microsecond') as bucket,
	bucket(moment, '1 microsecond') = trim_scale(extract(epoch from moment - interval '10957 days') + 10957 * 86400)::text as is_epoch
from unnest(array['294276-12-31 23:59:59.999999', '294247-01-10 04:00:54.775808', '294247-01-10 04:00:54.775807',
	'294246-12-11 04:00:54.775808', '294246-12-11 04:00:54.775807', '2026-11-22 12:34:56.5', '2000-01-01', '1970-01-01 00:00:00.000001',
	'1970-01-01', '1969-12-31 23:59:59.999999', '1969-12-31 23:59:58.5']::timestamptz[]) as moment;
select id, inserted from queue_unique_insert('q', '1', period => '1 hour', run_at => '294276-12-31 23:00');
select id, inserted from queue_unique_insert('q', '1', period => '1 hour', run_at => '294276-12-31 23:59');
select substring(unique_key from 'bucket=([^|]*)') as bucket from q;
drop schema test_unique_key_late cascade;
