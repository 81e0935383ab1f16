-- A whole row in a fragment or a CHECK: what its first evaluation keeps lives as long as the
-- expression does, which is longer than a call.
set client_min_messages = error;
create schema test_whole_row;
set search_path = test_whole_row, public;
select queue_create('jobs');
alter table jobs add check (to_jsonb(jobs) ->> 'nope' is null), add check (jobs is not distinct from jobs);
create table p (id integer primary key, state text not null default 'new');
create index on p (id);
create table c (like p including all);
create table x (like p including all);
insert into p select generate_series(1, 6);
insert into c select generate_series(1, 6);
insert into x select generate_series(1, 6);
select queue_attach('p', 'p', $$state = 'new' and to_jsonb(p) ->> 'state' = 'new'$$, 'id', $$state = 'taken'$$);
select queue_attach('c', 'c', $$state = 'new'$$, 'id', $$state = left(to_jsonb(c)::text, 40)$$);
select queue_attach('x', 'x', $$state = 'new' and x is not null$$, 'id', claim_mode => 'transaction');
create function call_all(n integer) returns text language plpgsql as $$
declare
	result text;
begin
	result := concat_ws(' ', queue_send('jobs', to_jsonb(n)), (select payload from queue_pop('jobs')),
		(select j from queue_pop_rows(null::p) as j), (select j from queue_pop_rows(null::c) as j), (select j from queue_pop_rows(null::x) as j));
	-- What was freed is used by others.
	perform repeat('x', 100 * i) from generate_series(1, 100) as i;
	return result;
end $$;
select call_all(1);
select call_all(2);
select call_all(3);
select call_all(4);
select call_all(5);
select queue_drop('jobs');
drop schema test_whole_row cascade;
