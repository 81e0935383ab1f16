-- queue_health: how claims of a queue are made is told to roles that are not of its owner's, too, as far as workers
-- have found out: its claims are not planned for them.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = error;
-- Only who compiles a claim knows.
set queue_ext.claim_path = auto;
create role regress_health_owner;
create role regress_health_watcher;
grant pg_read_all_data to regress_health_watcher;
create schema test_health_claims;
grant usage, create on schema test_health_claims to regress_health_owner;
set search_path = test_health_claims, public;
-- What a look for jobs took is of the machine, too, so that it is left out.
create function found() returns table (finding text, severity text, queue text, detail text, hint text)
language sql as $$ select finding, severity, queue, regexp_replace(detail, 'at .*, with', 'at ..., with'), hint from queue_health() where queue like 'test_health_claims.%' and finding <> 'sweeps_dear' $$;
set role regress_health_owner;
create table tasks (id bigint primary key, done boolean not null default false);
create index on tasks (id) where not done;
create function is_day(integer) returns boolean language plpgsql immutable as 'begin return true; end';
select queue_attach('tasks', 'tasks', pending => $$not done and is_day(1)$$, order_by => 'id', on_claim => 'done = true');
insert into tasks values (1), (2), (3), (4);
set role regress_health_watcher;
select * from found();

-- It does not compile any more: a worker's pop tells.
set role regress_health_owner;
select id from queue_pop_rows(null::tasks);
alter function is_day rename to is_night;
set role regress_health_watcher;
select * from found();
set role regress_health_owner;
select id from queue_pop_rows(null::tasks);
set role regress_health_watcher;
select * from found();
-- Until it does again.
set role regress_health_owner;
alter function is_night rename to is_day;
select id from queue_pop_rows(null::tasks);
set role regress_health_watcher;
select * from found();
-- An error of the caller's alone, or that passes, is none of the definition.
set role regress_health_owner;
create or replace function is_day(integer) returns boolean language plpgsql immutable as
	'begin raise exception ''later'' using errcode = current_setting(''app.state''); end';
set app.state = '42501';
select id from queue_pop_rows(null::tasks);
set app.state = '40001';
select id from queue_pop_rows(null::tasks);
set app.state = '55P03';
select id from queue_pop_rows(null::tasks);
set app.state = '57014';
select id from queue_pop_rows(null::tasks);
set app.state = '54001';
select id from queue_pop_rows(null::tasks);
set app.state = 'XX000';
select id from queue_pop_rows(null::tasks);
set role regress_health_watcher;
select * from found();
set role regress_health_owner;
set app.state = '58P01';
select id from queue_pop_rows(null::tasks);
set role regress_health_watcher;
select finding, severity from found();

-- The owner's look goes on after a function that recurses without end.
set role regress_health_owner;
create or replace function is_day(integer) returns boolean language plpgsql immutable as
	'begin return is_day($1 + 1); end';
select finding, severity, detail from found();

-- By statements; attached anew, nothing is known of it.
set role regress_health_owner;
select queue_detach('tasks');
create or replace function is_day(integer) returns boolean language plpgsql stable as 'begin return true; end';
select queue_attach('tasks', 'tasks', pending => $$not done and is_day(1)$$, order_by => 'id', on_claim => 'done = true');
select id from queue_pop_rows(null::tasks);
set role regress_health_watcher;
select * from found();
set role regress_health_owner;
select queue_detach('tasks');
alter table tasks rename to chores;
select queue_attach('tasks', 'chores', pending => 'not done', order_by => 'id', on_claim => 'done = true');
set role regress_health_watcher;
select * from found();

-- A managed queue, whose fragments are the library's, is looked at by everybody who may read it.
set role regress_health_owner;
select queue_create('jobs');
alter table jobs drop column attempt;
set role regress_health_watcher;
select * from found();
reset role;
drop schema test_health_claims cascade;
drop role regress_health_owner, regress_health_watcher;
