-- Rows that are inserted only once come in their order at once, wherever in the call they
-- stand, although claims know what comes next without them.
set client_min_messages = error;
create schema test_unique_wake;
set search_path = test_unique_wake, public;
create table t (id integer primary key, name text, done boolean not null default false);
create index on t (id) where not done;
select queue_attach('t', 't', 'not done', 'id', 'done = true');
insert into t select i, 'later ' || i from generate_series(100, 150) as i;
insert into t values (0, 'there', true);
-- A claim that has just swept sees them; no other sweep is due for a tenth of a second.
select name from queue_pop_rows(null::t);
select inserted from queue_unique_insert_row((1, 'one', false)::t, '{name}');
select name from queue_pop_rows(null::t);
select inserted from queue_unique_insert_rows(array[(2, 'two', false), (3, 'there', false)]::t[], '{name}');
select name from queue_pop_rows(null::t);
select inserted from queue_unique_insert_rows(array[(3, 'there', false), (4, 'four', false)]::t[], '{name}');
select name from queue_pop_rows(null::t);
select inserted from queue_unique_insert_rows(array[(3, 'there', false), (5, 'five', false), (6, 'there', false)]::t[], '{name}');
select name from queue_pop_rows(null::t);
select inserted from queue_unique_insert_rows(array[(3, 'there', false)]::t[], '{name}');
select name from queue_pop_rows(null::t);
drop schema test_unique_wake cascade;
