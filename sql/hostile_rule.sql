-- Rules that are made after a queue was, and rewrite a statement into another command:
-- it says nothing of rows, and that is told.
set client_min_messages = warning;
create schema test_hostile_rule;
set search_path = test_hostile_rule, public;
\set VERBOSITY terse
select queue_create('jobs');
create table other (like jobs);
select count(*) from queue_send_many('jobs', '{1, 2, 3}');
create table items (id integer primary key, state integer not null default 0);
create index on items (id) where state = 0;
create table other_items (like items);
insert into items values (1), (2), (3);
select queue_attach('q', 'items', 'state = 0', 'id', 'state = 1', 'state = 2', 'state = 0', on_extend => 'state = 1');
select queue_attach('locked', 'items', 'state = 0', 'id', on_complete => 'state = 2', claim_mode => 'transaction');

create function attempts() returns setof text language plpgsql as $$
declare
	call text;
begin
	foreach call in array array[
		$c$queue_send('jobs', '4')$c$, $c$queue_send_many('jobs', '{5, 6}')$c$,
		$c$queue_unique_insert('jobs', '7')$c$, $c$queue_unique_insert_many('jobs', '{7, 8}')$c$,
		$c$queue_pop('jobs', 2)$c$, $c$queue_extend('jobs', 1, 1)$c$, $c$queue_extend_many('jobs', '{1}', '{1}')$c$,
		$c$queue_fail('jobs', 1, 1)$c$, $c$queue_fail_many('jobs', '{1}', '{1}')$c$,
		$c$queue_release('jobs', 1, 1)$c$, $c$queue_release_many('jobs', '{1}', '{1}')$c$,
		$c$queue_complete('jobs', 1, 1)$c$, $c$queue_complete_many('jobs', '{1}', '{1}')$c$,
		$c$queue_cancel('jobs', 2)$c$, $c$queue_cancel_many('jobs', '{2}')$c$,
		$c$queue_requeue('jobs', 3)$c$, $c$queue_requeue_many('jobs', '{3}')$c$, $c$queue_purge('jobs')$c$,
		$c$queue_pop_rows(null::items, 'q', 2)$c$, $c$queue_extend_row('q', row(1, 1)::items)$c$,
		$c$queue_release_row('q', row(1, 1)::items)$c$, $c$queue_complete_row('q', row(1, 1)::items)$c$,
		$c$queue_complete_row('locked', j) from queue_pop_rows(null::items, 'locked', 2) as j$c$,
		$c$queue_unique_insert_row(row(9, 0)::items, '{id}')$c$,
		$c$queue_unique_insert_rows(array[row(9, 0), row(8, 0)]::items[], '{id}')$c$]
	loop
		begin
			execute 'select ' || call;
		exception when others then
			return next sqlstate || ' ' || call;
		end;
	end loop;
end $$;
create procedure attempt(event text, action text) language plpgsql as $$
begin
	execute format('create rule r as on %s to jobs do %s', event, action);
	execute format('create rule r as on %s to items do %s', event, replace(action, 'other', 'other_items'));
	create temporary table attempted on commit drop as select * from attempts() as a;
	raise warning '%s: %', event, (select string_agg(a, e'\n	') from attempted as a);
	rollback;
end $$;
call attempt('insert', 'instead update other set id = 1 returning other.*');
call attempt('insert', 'instead (insert into other select new.*; notify x)');
call attempt('insert', 'instead nothing');
call attempt('insert', 'also notify x');
call attempt('update', 'instead delete from other returning other.*');
call attempt('update', 'instead insert into other select new.* returning other.*');
call attempt('update', 'instead update other set id = new.id where other.id = old.id returning other.*');
call attempt('update', 'instead nothing');
call attempt('update', 'also notify x');
call attempt('delete', 'instead update other set id = 1 returning other.*');
call attempt('delete', 'instead nothing');
call attempt('delete', 'also (notify x; insert into other select old.*)');

drop schema test_hostile_rule cascade;
