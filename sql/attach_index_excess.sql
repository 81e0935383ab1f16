-- queue_attach warns of an index that leads a claim past many rows that are not pending, by the
-- statistics and by what the index has: of other tenants, say.
create schema test_excess;
set search_path = test_excess, public;
create procedure attach(pending text, order_by text default 'id') language plpgsql as $$
begin
	perform queue_attach('q', 't', pending => pending, order_by => order_by, on_claim => 'state = ''old''');
	perform queue_detach('q');
end $$;
create table t (id bigint primary key, state text not null, tenant text not null, at timestamptz) with (autovacuum_enabled = off);
create index new on t (id) where state = 'new';

-- Nothing is known of the table; then it is empty.
call attach($$state = 'new' and tenant = 'small'$$);
analyze t;
call attach($$state = 'new' and tenant = 'small'$$);
-- The rows of another tenant come first.
insert into t select n, 'new', 'big' from generate_series(1, 20000) as n;
insert into t select n, 'new', 'small' from generate_series(20001, 20100) as n;
analyze t;
call attach($$state = 'new' and tenant = 'small'$$);
call attach($$state = 'new' and tenant = 'big'$$);
call attach($$state = 'new'$$);
-- A condition of time does not count: no index can have it.
call attach($$state = 'new' and (at is null or at < call_time)$$);
call attach($$state = 'new' and tenant = 'small' and (at is null or at < call_time)$$);
-- An index that begins with the tenant serves; so does the one that the hint names.
begin;
create index on t (tenant, id);
call attach($$state = 'new' and tenant = 'small'$$);
rollback;
create index small on t (id) where state = 'new' and tenant = 'small';
call attach($$state = 'new' and tenant = 'small'$$);
drop index small;
-- An index whose condition leads to many others.
begin;
drop index new;
create index on t (state, id);
call attach($$state = 'new' and tenant = 'small'$$);
rollback;
-- A condition of its second column does not lead to a part of an index.
begin;
drop index new;
create index on t (id, tenant) where state = 'new';
call attach($$state = 'new' and tenant = 'small'$$);
rollback;
-- Two conditions that always hold together look rarer to the planner than they are.
update t set state = 'old', at = now() where id > 1500;
insert into t select n, 'old', 'big', now() from generate_series(20101, 60000) as n;
vacuum analyze t;
call attach($$state = 'new' and at is null$$);
-- Few rows are no reason to warn.
delete from t where id > 150;
update t set tenant = 'small' where id > 148;
vacuum analyze t;
call attach($$state = 'new' and tenant = 'small'$$);
drop table t;

-- Partitioned: all partitions together.
discard plans;
create table t (id bigint, state text not null, tenant text not null, at timestamptz) partition by list (tenant);
create table t_big partition of t for values in ('big') with (autovacuum_enabled = off);
create table t_rest partition of t default with (autovacuum_enabled = off);
create index on t (id) where state = 'new';
insert into t select n, 'new', 'big' from generate_series(1, 20000) as n;
insert into t select n, 'new', 'other' from generate_series(20001, 30000) as n;
insert into t select n, 'new', 'small' from generate_series(30001, 30100) as n;
analyze t;
call attach($$state = 'new' and tenant = 'small'$$);
call attach($$state = 'new' and tenant = 'big'$$);
-- A partition that the caller may not read.
create role regress_excess;
grant usage, create on schema test_excess to regress_excess;
alter table only t owner to regress_excess;
set role regress_excess;
call attach($$state = 'new' and tenant = 'small'$$);
reset role;
reassign owned by regress_excess to current_user;
drop owned by regress_excess;
drop role regress_excess;

set client_min_messages = warning;
drop schema test_excess cascade;
