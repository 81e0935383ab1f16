-- A name that two queues of one schema have, because a table has moved there, hides neither the
-- queue of that name in an earlier schema of the path nor is it found itself.
set client_min_messages = error;
create schema test_name_doubled_a;
create schema test_name_doubled_b;
create schema test_name_doubled_c;
set search_path = test_name_doubled_b, public;
create table one (id integer primary key, s text);
select queue_attach('twice', 'one', 's is null', 'id', 's = ''x''');
create table test_name_doubled_c.two (id integer primary key, s text);
select queue_attach('test_name_doubled_c.twice', 'test_name_doubled_c.two', 's is null', 'id', 's = ''x''');
alter table test_name_doubled_c.two set schema test_name_doubled_b;
select queue_pause('twice');
create table test_name_doubled_a.first (id integer primary key, s text);
select queue_attach('test_name_doubled_a.twice', 'test_name_doubled_a.first', 's is null', 'id', 's = ''x''');
set search_path = test_name_doubled_a, test_name_doubled_b, public;
select queue_pause('twice');
select source, paused from queues where queue like '%.twice' order by source::text;
set search_path = test_name_doubled_b, test_name_doubled_a, public;
select queue_pause('twice');
-- And a name that begins with a digit, in the name of a lock.
select queue_create('test_name_doubled_a."1x"');
begin;
select inserted from queue_unique_insert('test_name_doubled_a."1x"', '1');
select count(*) from pg_locks
where locktype = 'advisory' and pid = pg_backend_pid() and objsubid = 1 and ((classid::bigint << 32) | objid::bigint)
	= fnv_lock_key('unique_key|queue=test_name_doubled_a."1x"|args=1');
rollback;
select queue_unique_key('test_name_doubled_a."1x"', '1');
select queue_drop('test_name_doubled_a."1x"');
drop schema test_name_doubled_a cascade;
drop schema test_name_doubled_b cascade;
drop schema test_name_doubled_c cascade;
