-- An index on an expression, which the owner of the extension had made on the history of unique inserts, ended the server at the next insert; a partial one got rows that did not belong to it, and checks were not
-- looked at.
\set VERBOSITY sqlstate
set client_min_messages = warning;
create schema test_own_table;
set search_path = test_own_table, public;
select queue_create('q');
create function seen(value bigint) returns bigint immutable language plpgsql as $$ begin return value + 1; end $$;

begin;
create index on queue_unique_job ((job + 1));
create index on queue_unique_job (test_own_table.seen(job)) where job is not null;
create index odd on queue_unique_job (job) where job % 2 = 1;
create index on queue_unique_job using hash (digest);
create index on queue_unique_job (source, digest) include (job);
select id, inserted from queue_unique_insert('q', '1', period => '1 hour', run_at => '2100-01-01');
select id, inserted from queue_unique_insert('q', '1', period => '1 hour', run_at => '2100-01-01');
select id, inserted from queue_unique_insert_many('q', '{1,2,3,4}', period => '1 hour', run_at => '2100-01-01');
set local enable_seqscan = off;
set local enable_bitmapscan = off;
-- By the indexes, as in the table.
select job from queue_unique_job where source = 'q'::regclass and job % 2 = 1 order by job;
select job from queue_unique_job where job + 1 = 3 and source = 'q'::regclass;
select job from queue_unique_job where seen(job) = 3 and job is not null and source = 'q'::regclass;
delete from q;
select id, inserted from queue_unique_insert('q', '2', period => '1 hour', run_at => '2100-01-01');
rollback;

-- What must be unique, or holds, is so: the insert fails, and nothing is left of it.
begin;
create unique index on queue_unique_job ((source::oid)) where job is not null;
savepoint s;
select count(*) from queue_unique_insert_many('q', '{1,2}', period => '1 hour');
rollback to s;
select count(*) from queue_unique_insert_many('q', '{1}', period => '1 hour');
rollback;
begin;
alter table queue_unique_job add check (job % 5 <> 3);
select count(*) from queue_unique_insert_many('q', array(select to_jsonb(n) from generate_series(1, 9) as n), period => '1 hour');
rollback;
begin;
alter table queue_unique_job add column more text not null default 'of what was there';
select count(*) from queue_unique_insert('q', '1', period => '1 hour');
rollback;
select count(*) from q;
drop schema test_own_table cascade;
