-- The numbers of locks by name, against what clients in other languages compute. The
-- constants do not come from this extension. This is the Python that computed them;
-- Go's hash/fnv gives the same, by the lines by which River's Go client makes a lock's
-- number of a string and a prefix: int64(Sum64()) of fnv.New64, or with a prefix
-- int64(uint64(prefix)<<32 | uint64(Sum32())) of fnv.New32.
--
--     def fnv1(data, bits, basis, prime):
--         h = basis
--         for byte in data:
--             h = h * prime % 2**bits ^ byte
--         return h
--
--     def lock_key(name, prefix=0):
--         data = name.encode()
--         n = (prefix % 2**32 << 32 | fnv1(data, 32, 0x811c9dc5, 0x01000193) if prefix
--              else fnv1(data, 64, 0xcbf29ce484222325, 0x100000001b3))
--         return n - 2**64 if n >> 63 else n
--
--     def stripe(name):
--         return fnv1(name.encode(), 32, 0x811c9dc5, 0x01000193) % 256
set client_min_messages = warning;

-- River's example, and the strings of the reference.
select name,
       fnv_lock_key(name) = without as without_prefix,
       fnv_lock_key(name, 7) = seven as with_7,
       fnv_lock_key(name, -1) = minus_one as with_minus_1
from (values
	('unique_key|kind=my_unique_job',
	 -2613028030372364975, 31347521489, -3012216879),
	('unique_key|queue=public.mails|by=["to"]|args={"to": "ada"}',
	 -6148708884925664315, 31282681701, -3077056667),
	('unique_key|queue=public.mails|by=["to"]|period=86400|bucket=1777852800|args={"to": "ada"}',
	 3626932679327504197, 30127652709, -4232085659),
	('unique_key|queue=public.mails|by=["n", "to"]|period=3600|bucket=1777888800|args={"n": 1.5, "to": "ada"}',
	 5966389472797666383, 33307012943, -1052725425),
	('unique_key|queue=public.mails|args="Zoë"',
	 -5300103623071695914, 31376629398, -2983108970),
	('unique_key|table=public.visits|by=["day", "customer"]|values=["2026-05-04", "ada"]',
	 -2574033417973676714, 34085445206, -274293162),
	('unique_stripe|queue=public.mails|137',
	 743080373803525556, 31270084628, -3089653740),
	('unique_stripe|table=public.visits|137',
	 3541880359616566927, 30859953263, -3499785105)
) as vector (name, without, seven, minus_one);

create view held as
select ((classid::bigint << 32) | objid::bigint) as key, mode
from pg_locks where locktype = 'advisory' and objsubid = 1 and pid = pg_backend_pid();

begin;
select queue_lock('unique_key|kind=my_unique_job');
select key = -2613028030372364975 as is_rivers from held;
rollback;
begin;
set local queue_ext.advisory_lock_prefix = 7;
select queue_lock('unique_key|kind=my_unique_job');
select key = 31347521489 as is_rivers from held;
rollback;

-- queue_unique_insert takes these: the stripe, shared, and the key, exclusive.
select queue_create('public.mails');
begin;
select inserted from queue_unique_insert('public.mails', '{"to": "ada"}', '{to}');
select mode, case key
	when 743081473315153671 then 'unique_stripe|queue=public.mails|101'
	when -6148708884925664315 then 'unique_key|queue=public.mails|by=["to"]|args={"to": "ada"}'
	end as name
from held order by mode desc;
rollback;
begin;
select inserted from queue_unique_insert('public.mails', '{"n": 1.50, "to": "ada"}', '{to,n}', '1 hour',
	run_at => '2026-05-04 10:20:00+00');
select mode, case key
	when -9048693962509141335 then 'unique_stripe|queue=public.mails|79'
	when 5966389472797666383 then 'unique_key|queue=public.mails|by=["n", "to"]|period=3600|bucket=1777888800|args={"n": 1.5, "to": "ada"}'
	end as name
from held order by mode desc;
rollback;
begin;
select inserted from queue_unique_insert('public.mails', '"Zoë"');
select mode, case key
	when 743086970873294725 then 'unique_stripe|queue=public.mails|150'
	when -5300103623071695914 then 'unique_key|queue=public.mails|args="Zoë"'
	end as name
from held order by mode desc;
rollback;
-- With a prefix; a day's length is in seconds.
begin;
set local queue_ext.advisory_lock_prefix = 7;
select inserted from queue_unique_insert('public.mails', '{"to": "ada"}', '{to}', '1 day',
	run_at => '2026-05-04 10:20:00+00');
select mode, case key
	when 31286862215 then 'unique_stripe|queue=public.mails|101'
	when 30127652709 then 'unique_key|queue=public.mails|by=["to"]|period=86400|bucket=1777852800|args={"to": "ada"}'
	end as name
from held order by mode desc;
rollback;

-- queue_unique_key says so.
select fnv_lock_key(queue_unique_key('public.mails', '{"to": "ada"}', '{to}')) = -6148708884925664315 as plain,
       fnv_lock_key(queue_unique_key('public.mails', '{"to": "ada", "n": 1.50}', '{to,n}', '1 hour',
		'2026-05-04 10:20:00+00'), -1) = -1052725425 as with_prefix;
select queue_drop('public.mails');

-- For a table.
create table public.visits (day date, customer text);
create index on public.visits (day, customer);
begin;
select inserted from queue_unique_insert_row(row('2026-05-04', 'ada')::public.visits, '{customer,day}');
select mode, case key
	when -26365736749354202 then 'unique_stripe|table=public.visits|86'
	when -2574033417973676714 then 'unique_key|table=public.visits|by=["day", "customer"]|values=["2026-05-04", "ada"]'
	end as name
from held order by mode desc;
rollback;
begin;
set local queue_ext.advisory_lock_prefix = 7;
select inserted from queue_unique_insert_row(row('2026-05-04', 'ada')::public.visits, '{customer,day}');
select mode, case key
	when 32182793062 then 'unique_stripe|table=public.visits|86'
	when 34085445206 then 'unique_key|table=public.visits|by=["day", "customer"]|values=["2026-05-04", "ada"]'
	end as name
from held order by mode desc;
rollback;
drop table public.visits;
drop view held;
