-- A table with a column named t, which is what our statements call the table: they took the column for
-- the whole row. In claim mode session that ended the server, and queue_extend_row() returned it.
set client_min_messages = error;
create schema test_column_t;
set search_path = test_column_t, public;
create table jobs (id integer primary key, t integer, state text not null default 'ready', until timestamptz);
create index on jobs (id) where state = 'ready';
insert into jobs (id, t) select i, 10 * i from generate_series(1, 8) as i;

-- In mode session, by each path.
select queue_attach('held', 'jobs', 'state = ''ready''', 'id', on_complete => 'state = ''done''', claim_mode => 'session');
set queue_ext.claim_path = portable;
select id, t, queue_complete_row('held', j) as done from queue_pop_rows(null::jobs, 'held', 2) as j;
set queue_ext.claim_path = tid;
select id, t, queue_complete_row('held', j) as done from queue_pop_rows(null::jobs, 'held', 2) as j;
set queue_ext.claim_path = auto;
select id, t, queue_complete_row('held', j) as done from queue_pop_rows(null::jobs, 'held', 2) as j;
select queue_detach('held');

-- What is extended is the row.
select queue_attach('leased', 'jobs', 'state = ''ready'' and (until is null or until < call_time)', 'id',
	on_claim => 'until = call_time + lease', on_extend => 'until = call_time + lease');
with popped as materialized (select j from queue_pop_rows(null::jobs, 'leased') as j)
select (e).id, (e).t, (e).until > (j).until as is_later from popped, lateral queue_extend_row('leased', j, '1 day') as e;

-- In a table with partitions, too.
create table parts (id integer primary key, t text, state text not null default 'ready') partition by range (id);
create table parts_1 partition of parts for values from (1) to (5);
create table parts_2 partition of parts for values from (5) to (9);
insert into parts (id, t) select i, 't' || i from generate_series(1, 8) as i;
select queue_attach('parts', 'parts', 'state = ''ready''', 'id', on_complete => 'state = ''done''', claim_mode => 'session');
select id, t, queue_complete_row('parts', j) as done from queue_pop_rows(null::parts, 'parts', 6) as j;
drop schema test_column_t cascade;
