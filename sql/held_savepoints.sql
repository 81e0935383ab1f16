-- A job of a lock mode that is completed in a savepoint is held again when that is
-- rolled back, also by way of a savepoint around it.
set client_min_messages = warning;
create schema test_hold_savepoints;
set search_path = test_hold_savepoints, public;
create table items (id integer primary key, done boolean not null default false);
create index on items (id) where not done;
insert into items select generate_series(1, 4);
select queue_attach('session', 'items', 'not done', 'id', claim_mode => 'session', on_complete => 'done = true');
select queue_attach('transaction', 'items', 'not done', 'id', claim_mode => 'transaction', on_complete => 'done = true');

begin;
select id from queue_pop_rows(null::items, 'session');
savepoint a;
savepoint b;
select queue_complete_row('session', '(1,f)'::items) as first, queue_complete_row('session', '(1,f)'::items) as again;
release b;
select queue_complete_row('session', '(1,f)'::items) as again;
rollback to a;
select done from items where id = 1;
select queue_complete_row('session', '(1,f)'::items) as after_all;
commit;
select done from items where id = 1;

begin;
select id from queue_pop_rows(null::items, 'transaction');
savepoint a;
savepoint b;
savepoint c;
select queue_complete_row('transaction', '(2,f)'::items) as first;
release c;
release b;
rollback to a;
select queue_complete_row('transaction', '(2,f)'::items) as after_all;
commit;
select done from items where id = 2;

-- What was claimed in there goes with it.
begin;
savepoint a;
savepoint b;
select id from queue_pop_rows(null::items, 'session');
release b;
select count(*) as locks from pg_locks where locktype = 'advisory' and pid = pg_backend_pid();
rollback to a;
select count(*) as locks from pg_locks where locktype = 'advisory' and pid = pg_backend_pid();
select queue_complete_row('session', '(3,f)'::items) as lost;
select id from queue_pop_rows(null::items, 'session');
commit;
select count(*) as locks from pg_locks where locktype = 'advisory' and pid = pg_backend_pid();
select queue_complete_row('session', '(3,f)'::items) as kept;
select id from items where not done;
drop schema test_hold_savepoints cascade;
