-- A foreign key that is still to be checked of the transaction's own version of a row is
-- checked of the version that a claim makes of it, too.
set client_min_messages = error;
\set VERBOSITY terse
create schema test_foreign_key;
set search_path = test_foreign_key, public;
create table parent (id integer primary key);
insert into parent values (1);
create table child (id integer primary key, parent integer references parent deferrable, state text not null default 'new');
create index on child (id) where state = 'new';
select queue_attach('child', 'child', $$state = 'new'$$, 'id', $$state = 'taken'$$, on_release => $$state = 'new'$$);
create table woken (like child including all);
alter table woken add foreign key (parent) references parent deferrable;
select queue_attach('woken', 'woken', $$state = 'new'$$, 'id', $$state = 'taken'$$, wake => true);

-- In the statement that inserts.
with i as (insert into child values (1, 99) returning id)
select j from i, lateral (select * from queue_pop_rows(null::child) where i.id > 0) as j;
with i as (insert into woken values (1, 99) returning id)
select j from i, lateral (select * from queue_pop_rows(null::woken) where i.id > 0) as j;

-- Before the commit, of what was inserted, and what was changed.
begin;
set constraints all deferred;
insert into child values (2, 99);
select * from queue_pop_rows(null::child);
commit;
insert into child values (3, 1);
begin;
set constraints all deferred;
update child set parent = 99 where id = 3;
select * from queue_pop_rows(null::child);
commit;
begin;
set constraints all deferred;
select * from queue_pop_rows(null::child) as j \gset
update child set parent = 99, state = 'new' where id = 3;
select * from queue_pop_rows(null::child);
commit;
begin;
set constraints all deferred;
insert into woken values (2, 99);
select * from queue_pop_rows(null::woken);
commit;

-- Nothing is left that has no parent.
select * from child where parent not in (select id from parent);
select * from woken where parent not in (select id from parent);

-- With nothing to check they are claimed as ever.
begin;
select * from queue_pop_rows(null::child);
commit;
drop schema test_foreign_key cascade;
