-- What a fragment depends on was followed from type to type without a look at the stack: 190,000
-- domains, each over an array of the one before, ended the server.
set client_min_messages = error;
create schema test_deep_type;
set search_path = test_deep_type, public;
create domain d0 as integer;
do $$ begin for i in 1 .. 3000 loop execute format('create domain d%s as d%s[]', i, i - 1); end loop; end $$;
create table t (id integer primary key, s integer);
set max_stack_depth = '100kB';
\set VERBOSITY terse
select queue_attach('t', 't', 's is null and null::d3000 is null', 'id', 's = 1');
select count(*) from queue_unique_insert_row(row(1, 1)::t, '{id}', 'null::d3000 is null');
reset max_stack_depth;
select queue_attach('t', 't', 's is null and null::d3000 is null', 'id', 's = 1');
select queue_detach('t');
drop table t;
-- One transaction has not the locks to drop them all.
do $$ begin for i in reverse 3000 .. 0 loop execute format('drop domain d%s', i); if i % 50 = 0 then commit; end if; end loop; end $$;
drop schema test_deep_type;
