-- The advisory lock of a row of mode "session" is that of pg_advisory_lock(table, key),
-- with negative keys, too; a key that is no such integer has its text's FNV-1 hash.
set client_min_messages = warning;
create schema test_hold_lock_number;
set search_path = test_hold_lock_number, public;
create table numbers (id bigint primary key);
create table words (id text primary key);
select queue_attach('numbers', 'numbers', 'true', 'id', claim_mode => 'session');
select queue_attach('words', 'words', 'true', 'id', claim_mode => 'session');
insert into numbers values (-2147483649), (-2147483648), (-5), (-1), (0), (7), (2147483647), (2147483648);
insert into words values ('-5'), ('five');

select id from queue_pop_rows(null::numbers, max_jobs => 10);
select objid from pg_locks
where locktype = 'advisory' and classid = 'numbers'::regclass and objsubid = 2 and pid = pg_backend_pid()
order by 1;
select fnv1_32(number::text)::bit(32)::bigint as of_those_beyond from (values (-2147483649), (2147483648)) as n (number);
-- So they can be given back by hand.
select pg_advisory_unlock('numbers'::regclass::integer, -5);
select id from queue_pop_rows(null::numbers, max_jobs => 10);

select id from queue_pop_rows(null::words, max_jobs => 10);
select objid = fnv1_32(id)::bit(32)::bigint as is_hash from words
left join pg_locks on locktype = 'advisory' and classid = 'words'::regclass and pid = pg_backend_pid()
	and objid = fnv1_32(id)::bit(32)::bigint
order by id;
select from pg_advisory_unlock_all();
drop schema test_hold_lock_number cascade;
