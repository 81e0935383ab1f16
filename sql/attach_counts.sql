-- queue_counts of attached queues: the rows that are pending, as the caller's query sees them.
set client_min_messages = warning;
create schema test_counts;
set search_path = test_counts, public;
create table t (id integer primary key, state text not null default 'new', run_at timestamptz not null default '2000-01-01', taken timestamptz, tenant text);
create index on t (id) where state = 'new';
insert into t (id) select generate_series(1, 10);
update t set run_at = 'infinity' where id = 1;
update t set state = 'done' where id = 2;
select queue_attach('t', 't', 'state = ''new'' and run_at <= call_time and (taken is null or taken < call_time - lease) and (tenant is null or tenant = worker)', 'id',
	'taken = call_time', lease => '1 hour');
select * from queue_counts('t');
select id from queue_pop_rows(null::t, 't', 2);
select * from queue_counts('t');
-- A lease that has ended; and a row for one worker alone.
update t set taken = now() - interval '61 minutes' where id = 3;
update t set tenant = 'a' where id = 5;
select * from queue_counts('t');
select queue_alter('t', lease => '2 hours');
select * from queue_counts('t');
-- What nobody else sees, and what an older snapshot does not show.
begin;
delete from t where id = 6;
select * from queue_counts('t');
rollback;
begin isolation level repeatable read;
select count(*) from t;
select queue_pause('t');
select * from queue_counts('t');
rollback;
begin read only;
select * from queue_counts('t');
commit;
-- In the other modes; of a partitioned table.
create table p (id integer, state integer not null default 0, primary key (id)) partition by hash (id);
create table p0 partition of p for values with (modulus 2, remainder 0);
create table p1 partition of p for values with (modulus 2, remainder 1);
create index on p (id) where state = 0;
insert into p select generate_series(1, 5);
select queue_attach('p', 'p', 'state = 0', 'id', claim_mode => 'transaction');
begin;
select id from queue_pop_rows(null::p, 'p', 2);
select * from queue_counts('p');
commit;
create table s (like t including all);
insert into s select * from t;
select queue_attach('s', 's', 'state = ''new''', claim_mode => 'session');
select count(*) from queue_pop_rows(null::s, 's', 3);
select * from queue_counts('s');
select pg_advisory_unlock_all();
-- By the caller's rights and policies.
create role regress_counts;
grant usage on schema test_counts to regress_counts;
set role regress_counts;
select * from queue_counts('t');
reset role;
grant select on t to regress_counts;
alter table t enable row level security;
create policy few on t using (id > 8);
set role regress_counts;
select * from queue_counts('t');
reset role;
select ready from queue_counts('t');
-- The plan is kept, and follows the table.
alter table t alter tenant type varchar;
select ready from queue_counts('t');
alter table t drop tenant;
select * from queue_counts('t');
drop owned by regress_counts;
drop role regress_counts;
drop schema test_counts cascade;
