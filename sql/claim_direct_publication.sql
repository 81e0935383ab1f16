-- A published table without a replica identity: claims and completions, which update and
-- delete, are refused as UPDATE and DELETE are; sending and mode "session" write nothing
-- that it would take one for. Alike on both paths, in throttles and in locks.
set client_min_messages = error;
create schema test_direct_publication;
set search_path = test_direct_publication, public;
create function error_of(command text) returns text language plpgsql as $$
begin
	execute command;
	raise sqlstate 'UNDO0';
exception
	when sqlstate 'UNDO0' then
		return 'done';
	when others then
		return sqlstate;
end $$;
select queue_create('jobs', lease => '1 hour');
create table t (id integer primary key, state integer not null default 0, other integer not null default 1);
create index on t (id) where state = 0;
insert into t select generate_series(1, 9);
do $$ begin
	perform queue_send_many('jobs', '{1,2,3,4}');
	perform queue_pop('jobs');
	perform queue_attach('u', 't', 'state = 0', 'id', 'state = 1');
	perform queue_attach('x', 't', 'state = 0', 'id', claim_mode => 'transaction');
	perform queue_attach('s', 't', 'state = 0', 'id', claim_mode => 'session');
	perform throttle_create('r', '1 hour');
	perform mutex_acquire('held');
end $$;
create view calls as
select n, call
from unnest(array[
	$$queue_send('jobs', '1')$$, $$queue_send_many('jobs', '{1,2}')$$, $$queue_unique_insert('jobs', '"new"')$$,
	$$queue_pop('jobs')$$, $$queue_complete('jobs', 1, 1)$$, $$queue_complete_many('jobs', '{1}', '{1}')$$,
	$$queue_fail('jobs', 1, 1)$$, $$queue_cancel('jobs', 1)$$,
	$$queue_pop_rows(null::t, 'u')$$, $$queue_pop_rows(null::t, 'x')$$, $$queue_pop_rows(null::t, 's')$$,
	$$lock_throttled_resource('r', 'x')$$, $$mutex_acquire('new')$$, $$mutex_release('held')$$
]) with ordinality as c (call, n);
create procedure outcomes(inout direct text, inout portable text) language plpgsql as $$
begin
	set local queue_ext.claim_path = direct;
	direct := (select string_agg(error_of('select ' || call), ' ' order by n) from calls);
	set local queue_ext.claim_path = portable;
	portable := (select string_agg(error_of('select ' || call), ' ' order by n) from calls);
end $$;
select string_agg(call, ' ' order by n) from calls;
call outcomes(null, null);
-- With the primary key as identity, which all have at first; with none; with the whole row.
create publication test_direct_publication for table jobs, t, throttled_resource, named_lock;
call outcomes(null, null);
alter table jobs replica identity nothing;
alter table t replica identity nothing;
alter table throttled_resource replica identity nothing;
alter table named_lock replica identity nothing;
call outcomes(null, null);
alter publication test_direct_publication set (publish = 'insert, truncate');
call outcomes(null, null);
alter publication test_direct_publication set (publish = 'insert, update');
call outcomes(null, null);
alter publication test_direct_publication set (publish = 'insert, update, delete');
alter table jobs replica identity full;
alter table t replica identity full;
alter table throttled_resource replica identity default;
alter table named_lock replica identity default;
call outcomes(null, null);
-- A filter on what is no part of the identity.
alter table t replica identity default;
alter publication test_direct_publication set table t where (other > 0);
call outcomes(null, null);
drop publication test_direct_publication;
do $$ begin
	perform throttle_drop('r');
	delete from named_lock;
end $$;
drop schema test_direct_publication cascade;
