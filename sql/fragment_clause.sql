-- A fragment that begins with the word of its clause is told to leave the word out, with the
-- position; names that are such words stay names.
set client_min_messages = error;
create schema test_fragment_clause;
set search_path = test_fragment_clause, public;
create table t (id bigint primary key, state integer not null default 0, set integer, "where" integer, setting integer, by integer);
\set SHOW_CONTEXT errors
select queue_attach('q', 't', 'where state = 0', on_claim => 'state = 1');
select queue_attach('q', 't', E'\n  WHERE state = 0', on_claim => 'state = 1');
select queue_attach('q', 't', 'on state = 0', on_claim => 'state = 1');
select queue_attach('q', 't', 'and state = 0', on_claim => 'state = 1');
select queue_attach('q', 't', 'when state = 0', on_claim => 'state = 1');
select queue_attach('q', 't', 'state = 0', 'order by id', 'state = 1');
select queue_attach('q', 't', 'state = 0', E'Order\n by id desc', 'state = 1');
select queue_attach('q', 't', 'state = 0', 'by id', 'state = 1');
select queue_attach('q', 't', 'state = 0', on_claim => 'set state = 1');
select queue_attach('q', 't', 'state = 0', on_claim => 'state = 1', on_complete => 'SET (state, id) = (1, 2)');
select queue_attach('q', 't', 'state = 0', on_claim => 'state = 1', on_release => 'set');
select queue_attach('q', 't', 'state = 0', on_claim => 'state = 1', on_fail => 'where state = 1');
select * from queue_unique_insert_row('(1,0,,,,)'::t, '{id}', 'where state = 0');

-- Not the word of a clause, but something else that is wrong.
select queue_attach('q', 't', 'where', on_claim => 'state = 1');
select queue_attach('q', 't', 'wherever = = 0', on_claim => 'state = 1');
select queue_attach('q', 't', 'set = = 0', on_claim => 'state = 1');
select queue_attach('q', 't', 'state = 0', 'order id', 'state = 1');

-- Names.
select queue_attach('set', 't', 'set = 0', 'set, by', 'set = 1', on_complete => 'setting = 1', on_fail => 'by = 1');
select queue_attach('where', 't', '"where" = 0 and setting is null', '"where"', '"where" = 1');
select queue_attach('also', 't', 'set is null', 'by desc', E'set\n= 1');
drop schema test_fragment_clause cascade;
