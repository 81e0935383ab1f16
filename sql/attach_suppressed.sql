-- A trigger that suppresses the claim's UPDATE: the row is not handed out, with a key or
-- without, alone and among others; by each path.
set client_min_messages = error;
create schema test_suppressed;
set search_path = test_suppressed, public;
set queue_ext.claim_path = auto;
create function suppress() returns trigger language plpgsql as $$ begin
	if old.id % 2 = 1 and new.state = 'taken' then
		return null;
	end if;
	return new;
end $$;
create table keyed (id integer primary key, state text not null default 'new');
create table keyless (id integer, state text not null default 'new');
do $$
declare
	t regclass;
begin
	foreach t in array '{keyed,keyless}'::regclass[] loop
		execute format('create trigger suppress before update on %s for each row execute function suppress()', t);
		execute format('create index on %s (id) where state = ''new''', t);
		execute format('insert into %s select generate_series(1, 6)', t);
		perform queue_attach(t::text, t, 'state = ''new''', 'id', 'state = ''taken''');
	end loop;
end $$;
select * from queue_pop_rows(null::keyed);
select * from queue_pop_rows(null::keyed, max_jobs => 3);
select * from queue_pop_rows(null::keyed, max_jobs => 10);
select * from keyed order by id;
select * from queue_pop_rows(null::keyless);
select * from queue_pop_rows(null::keyless, max_jobs => 3);
select * from queue_pop_rows(null::keyless, max_jobs => 10);
select * from keyless order by id;
set queue_ext.claim_path = portable;
update keyed set state = 'new';
update keyless set state = 'new';
select * from queue_pop_rows(null::keyed);
select * from queue_pop_rows(null::keyed, max_jobs => 3);
select * from queue_pop_rows(null::keyed, max_jobs => 10);
select * from keyed order by id;
select * from queue_pop_rows(null::keyless);
select * from queue_pop_rows(null::keyless, max_jobs => 3);
select * from queue_pop_rows(null::keyless, max_jobs => 10);
select * from keyless order by id;
drop schema test_suppressed cascade;
