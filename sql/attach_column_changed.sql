-- The owner of a managed queue's table changes a column that its functions read by name: the
-- error says which, and of what type it should be. A number of another type was read as if
-- it were of the old one.
set client_min_messages = warning;
create schema test_column_changed;
set search_path = test_column_changed, public;
select queue_create('jobs');
select queue_send('jobs', '1');
select id from queue_pop('jobs');
\set VERBOSITY terse
begin;
alter table jobs alter column attempt type real;
select queue_fail_row('jobs', j, 'no') from jobs as j;
rollback;
begin;
alter table jobs alter column attempt type numeric;
\set VERBOSITY default
select queue_fail_row('jobs', j, 'no', retry_in => null) from jobs as j;
rollback;
begin;
alter table jobs rename column attempt to tries;
\set VERBOSITY terse
select queue_fail_row('jobs', j, 'no') from jobs as j;
rollback;
-- With a time to try again, nothing depends on it.
begin;
alter table jobs alter column attempt type bigint;
select queue_fail_row('jobs', j, 'no', '1 hour') from jobs as j;
rollback;
select queue_fail_row('jobs', j, 'no') from jobs as j;
-- A statement that was prepared with all columns claims nothing once one of them is gone.
create table slim (id integer primary key, extra integer, taken boolean not null default false);
insert into slim values (1), (2);
create index on slim (id) where not taken;
select queue_attach('slim', 'slim', pending => 'not taken', order_by => 'id', on_claim => 'taken = true');
prepare pop_all as select * from queue_pop_rows(null::slim, 'slim');
prepare pop_id as select id from queue_pop_rows(null::slim, 'slim');
execute pop_all;
alter table slim add column more integer;
alter table slim drop column extra;
execute pop_all;
execute pop_all;
select id from slim where not taken;
execute pop_id;
deallocate pop_all;
deallocate pop_id;

drop schema test_column_changed cascade;
