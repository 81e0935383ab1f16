-- User-defined code that waits where it may not, and that is called while a wait looks, claims or commits.
\set SHOW_CONTEXT never
create schema test_hostile_wait;
set search_path = test_hostile_wait, public;
set queue_ext.claim_path = auto;
set client_min_messages = warning;
select queue_create(q) from unnest('{q,other}'::text[]) as q;
create procedure pop(name text, wait interval default '0', inout payload jsonb default null) language plpgsql as $$
declare
	j queue_job;
begin
	call queue_pop_wait(name, wait, null, null, j.id, j.attempt, payload, j.priority, j.run_at, j.max_attempts, j.leased_until,
		j.leased_by, j.last_error, j.created_at, j.kind);
end $$;

-- What a table's own code may call: a wait, by either procedure; its error is caught, or not.
create function act(what text) returns text volatile language plpgsql as $$
declare
	payload jsonb;
begin
	begin
		if what like '%wait%' then
			call queue_wait('other', '0');
		elsif what like '%pop%' then
			call pop('other', '0', payload);
		end if;
	exception when active_sql_transaction or invalid_transaction_termination then
		if what like '%raise%' then
			raise;
		end if;
		return sqlstate;
	end;
	return 'no error';
end $$;
create table done (n integer generated always as identity, place text, outcome text);
create function note(place text) returns boolean volatile language plpgsql as $$
begin
	insert into done (place, outcome) select place, act(current_setting('test.act'));
	return true;
end $$;

-- In "pending", by each path: volatile functions are evaluated by the portable one.
create function is_new(id integer) returns boolean immutable language plpgsql as $$
begin
	return id > 0 and (select note('pending'));
end $$;
create table t (id integer primary key, state text not null default 'new');
create index on t (id) where state = 'new';
select queue_attach('t', 't', pending => $$state = 'new' and is_new(id)$$, order_by => 'id', on_claim => $$state = 'done'$$, wake => true);
insert into t values (1);
-- A write of the table has the next look read it.
create function next(what text) returns void language plpgsql as $$
begin
	update t set state = 'new';
	perform set_config('test.act', what, false);
end $$;
select next('wait');
call queue_wait('t', '1 s');
select next('pop');
call queue_wait('t', '1 s');
select next('wait raise');
call queue_wait('t', '1 s');
select next('pop raise');
call queue_wait('t', '1 s');
set queue_ext.claim_path = tid;
select next('wait');
call queue_wait('t', '1 s');
set queue_ext.claim_path = portable;
select next('wait');
call queue_wait('t', '1 s');
select next('pop raise');
call queue_wait('t', '1 s');
set queue_ext.claim_path = auto;
select next('wait');
begin;
call queue_wait('t', '1 s');
rollback;
select distinct place, outcome from done order by 1, 2;
truncate done;

-- In triggers of the claim, and of the commits of a wait.
create function on_write() returns trigger language plpgsql as $$
begin
	perform note(tg_name);
	return new;
end $$;
create trigger claimed before update on q for each row execute function on_write();
create constraint trigger committed after update on q deferrable initially deferred for each row execute function on_write();
select queue_send('q', '1') is not null as sent;
set test.act = 'wait';
call pop('q', '1 s');
set test.act = 'pop raise';
select queue_send('q', '2') is not null as sent;
call pop('q', '1 s');
set test.act = 'pop';
call pop('q', '1 s');
set test.act = 'wait raise';
select count(*) from queue_pop('q');
select place, outcome from done order by n;
truncate done;
-- A claim that is undone as it commits leaves the job to the next one.
set test.act = '';
select queue_send('q', '3') is not null as sent;
drop trigger claimed on q;
set test.act = 'pop raise';
call pop('q', '1 s');
set test.act = '';
call pop('q', '1 s');

-- In a loop over a cursor, which is held while the procedure commits; in a procedure of another owner's
-- rights, and with settings of its own, which may not commit.
do $$
declare
	n integer := 0;
	r record;
	payload jsonb;
begin
	for r in select i from generate_series(1, 3) as i loop
		call queue_wait('q', '0');
		call pop('q', '1 ms', payload);
		n := n + 1;
	end loop;
	assert n = 3;
end $$;
create procedure definer() language plpgsql security definer as $$ begin call queue_wait('q', '0'); end $$;
call definer();
create procedure setting() language plpgsql set work_mem = '1MB' as $$ begin call queue_wait('q', '0'); end $$;
call setting();
create procedure popping() language plpgsql security definer as $$ declare payload jsonb; begin call pop('q', '0', payload); end $$;
call popping();
-- By EXECUTE, which may not commit; with an argument whose function tries to wait.
do $$ begin execute 'call queue_wait(''q'', ''0'')'; end $$;
create function name_of() returns text language plpgsql as $$
begin
	perform act('wait');
	return 'q';
end $$;
call queue_wait(name_of(), '0');
begin;
call queue_wait(name_of(), '0');
rollback;

-- Code that drops what is waited for, as the wait looks.
create function drop_other() returns boolean volatile language plpgsql as $$
begin
	perform queue_detach('t');
	return true;
end $$;
create function dropping(id integer) returns boolean immutable language plpgsql as $$
begin
	return (select drop_other());
end $$;
select queue_detach('t');
select queue_attach('t', 't', pending => $$state = 'new' and dropping(id)$$, order_by => 'id', on_claim => $$state = 'done'$$, wake => true);
call queue_wait('t', '1 s');
call queue_wait('t', '1 s');

drop schema test_hostile_wait cascade;
