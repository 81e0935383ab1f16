-- NOT NULL holds on the direct path: for what a claim writes, and for what a sender gives or
-- leaves to defaults, in whichever column.
set client_min_messages = error;
create schema test_not_null;
set search_path = test_not_null, public;
\set VERBOSITY terse
create table t (id integer primary key, a text not null, b text, c text not null, state text not null default 'new', d text not null, e text);
create index on t (id) where state = 'new';
insert into t select i, 'a', null, 'c', 'new', 'd', 'e' from generate_series(1, 4) as i;
select queue_attach('a', 't', $$state = 'new'$$, 'id', $$state = 'taken', a = b$$);
select queue_attach('c', 't', $$state = 'new'$$, 'id', $$state = 'taken', c = null$$);
select queue_attach('d', 't', $$state = 'new'$$, 'id', $$state = 'taken', d = case when id = 1 then null else e end$$);
select queue_attach('fine', 't', $$state = 'new'$$, 'id', $$state = 'taken', b = null, e = null$$);
select id from queue_pop_rows(null::t, 'a');
select id from queue_pop_rows(null::t, 'c');
select id from queue_pop_rows(null::t, 'd');
select id from queue_pop_rows(null::t, 'd', 2);
update t set state = 'gone' where id = 1;
select id, d, e from queue_pop_rows(null::t, 'd');
select id, b, e from queue_pop_rows(null::t, 'fine');
select * from t order by id;
select queue_create('jobs');
alter table jobs add column x text not null default 'x', add column y text, add column z text not null default 'z';
select queue_send('jobs', '1');
alter table jobs alter x set default null;
select queue_send('jobs', '2');
select queue_send_many('jobs', '{3}');
alter table jobs alter x set default 'x', alter z drop default;
select queue_send('jobs', '4');
alter table jobs alter z drop not null;
select queue_send('jobs', '5');
select payload, x, y, z from jobs order by id;
select queue_drop('jobs');
drop schema test_not_null cascade;
