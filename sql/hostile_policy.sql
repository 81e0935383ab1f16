-- Policies that are functions which call the extension, change its settings, and alter or
-- drop what the call is about. Whatever they do, no row of another is handed out, changed or
-- told of; there is no internal error and no crash.
set client_min_messages = error;
create schema test_hostile_policy;
set search_path = test_hostile_policy, public;
create role test_policy_ann;
create role test_policy_bob;
grant usage on schema test_hostile_policy to test_policy_ann, test_policy_bob;
create sequence calls;
create function attack() returns boolean language plpgsql set search_path = test_hostile_policy, public as $$
begin
	if nextval('calls') = current_setting('policy.call')::bigint then
		if current_setting('policy.is_caught')::boolean then
			begin
				execute current_setting('policy.command');
			exception when others then
				null;
			end;
		else
			execute current_setting('policy.command');
		end if;
	end if;
	return true;
end $$;
create function attack_planned(integer) returns boolean immutable language plpgsql as
$$ begin return test_hostile_policy.attack(); end $$;
-- What only the owner may do.
create function as_owner(command text) returns void security definer language plpgsql set search_path = test_hostile_policy, public as
$$ begin execute command; end $$;

-- Of what is combined with each other here one in so many is tried, or all.
\set sample 1
\getenv sample QUEUE_EXT_SAMPLE
set policy.sample = :sample;
create table attacks (command text, n integer generated always as identity);
insert into attacks values
	('select queue_send(''jobs'', ''{"of": "test_policy_ann", "n": 9}'')'),
	('select queue_send(''jobs'', ''{"of": "test_policy_bob"}'')'),
	('select queue_pop(''jobs'', 3)'),
	('select queue_pop(''jobs'', n) from unnest(array[3, 1, 2, 4, 5]) as n'),
	('select queue_complete_many(''jobs'', array(select generate_series(1, 12)), array_fill(1, array[12]))'),
	('select queue_cancel_many(''jobs'', array(select generate_series(1, 12)))'),
	('select queue_release_many(''jobs'', array(select generate_series(1, 12)), array_fill(1, array[12]))'),
	('select queue_purge(''jobs'')'),
	('select queue_purge(''jobs'', ''done'')'),
	('select queue_counts(''jobs'')'),
	('select queue_unique_insert(''jobs'', ''{"of": "test_policy_bob", "n": 3}'')'),
	('select queue_unique_insert_row(j, ''{payload}'') from jobs as j'),
	('select queue_complete_row(''jobs'', row(3, now(), now(), now() + ''1 hour'', null, 1, 25, 0, null, null, ''{}'', null)::jobs)'),
	('set local row_security = off'),
	('set local queue_ext.claim_path = portable'),
	('discard plans'),
	('select pg_advisory_unlock_all()'),
	('select 1 / 0');
create table owner_attacks (command text);
insert into owner_attacks values
	('drop policy mine on jobs'),
	('alter policy mine on jobs using (false)'),
	('alter policy mine on jobs using (attack_planned(2))'),
	('alter table jobs disable row level security'),
	('alter table jobs rename to others'),
	('alter table jobs drop column payload'),
	('alter table jobs add column more integer default 1'),
	('create trigger more after insert or update or delete on jobs for each row execute function queue_wake()'),
	('create rule more as on update to jobs do instead nothing'),
	('create or replace function attack() returns boolean language sql as ''select false'''),
	('revoke all on jobs from test_policy_ann'),
	('truncate jobs'),
	('select queue_pause(''jobs'')'),
	('select queue_alter(''jobs'', archive => true)'),
	('select queue_detach(''jobs'')'),
	('select queue_detach(''jobs''); select queue_attach(''jobs'', ''jobs'', ''dead_at is null'', ''id'', ''dead_at = call_time'')'),
	('select queue_detach(''jobs''); select queue_adopt(''jobs''); select queue_pop(''jobs'')');
insert into attacks select format('select as_owner(%L)', command) from owner_attacks;
-- A table that is gone when a statement has been planned is PostgreSQL's own internal error.
create table late_attacks (command text, n integer generated always as identity);
insert into late_attacks values ('select as_owner(''drop table jobs cascade'')'), ('select as_owner(''select queue_drop(''''jobs'''')'')');
grant select on attacks, owner_attacks, late_attacks to test_policy_ann;
grant usage on sequence calls to test_policy_ann, test_policy_bob;
grant update on sequence calls to test_policy_ann;

create function set_up(condition text) returns void language plpgsql as $$
begin
	perform set_config('policy.call', '0', false);
	perform queue_drop('jobs', true), queue_create('jobs');
	perform queue_send('jobs', jsonb_build_object('of', 'test_policy_' || case n % 2 when 0 then 'ann' else 'bob' end, 'n', n))
	from generate_series(1, 12) as n;
	execute 'create policy mine on jobs using (' || condition || ')';
	alter table jobs enable row level security;
	grant select, insert, update, delete on jobs to test_policy_ann, test_policy_bob;
end $$;

-- One of the calls that a worker makes.
create table rounds (command text, n integer generated always as identity);
insert into rounds values
	('select payload from queue_pop(''jobs'', 3)'),
	('select null from queue_send(''jobs'', ''{"of": "test_policy_ann"}'') union all select null from queue_send_many(''jobs'', ''{"{\"of\": \"test_policy_ann\"}","{\"of\": \"test_policy_ann\"}"}'')'),
	('select to_jsonb(p) from queue_unique_insert(''jobs'', ''{"of": "test_policy_ann", "n": 3}'', states => array[''ready'']) as p where not inserted'),
	('select to_jsonb(p) from queue_unique_insert_many(''jobs'', ''{"{\"of\": \"test_policy_ann\", \"n\": 3}"}'', states => array[''ready'']) as p where not inserted'),
	('select payload from queue_pop(''jobs'', 2) as j where queue_fail(''jobs'', id, attempt, ''no'', ''0'') or queue_release(''jobs'', id, attempt) or queue_extend(''jobs'', id, attempt)'),
	('select payload from queue_pop(''jobs'', 2) as j where queue_complete(''jobs'', id, attempt)'),
	('select null from queue_cancel_many(''jobs'', ''{1, 2, 3}'') union all select null from queue_requeue_many(''jobs'', ''{1, 2, 3}'')'),
	('select to_jsonb(queue_counts(''jobs'')) - ''ready'''),
	('select to_jsonb(queue_purge(''jobs''))');
grant select on rounds to test_policy_ann;
create table results (round text, outcome text);
grant insert on results to test_policy_ann;
create function others() returns text security definer language plpgsql set search_path = test_hostile_policy, public as
$$ begin return string_agg(jobs::text, e'\n' order by id) from jobs where payload->>'of' = 'test_policy_bob'; end $$;
create procedure attack_all(attacks text, calls integer[]) language plpgsql as $$
declare
	round record;
	result jsonb;
	before text;
	outcome text;
begin
	for round in execute format('select r.command as call, a.command, c, is_caught from rounds as r, %I as a, unnest($1) as c,'
		' unnest(array[true, false]) as is_caught where (r.n + a.n + c + is_caught::integer) %% current_setting(''policy.sample'')::integer = 0', attacks) using calls
	loop
		before := others();
		outcome := null;
		perform setval('calls', 1, false), set_config('policy.call', round.c::text, true),
			set_config('policy.command', round.command, true), set_config('policy.is_caught', round.is_caught::text, true);
		begin
			for result in execute round.call loop
				if result->>'of' <> 'test_policy_ann' then
					raise exception 'handed out %', result;
				end if;
			end loop;
			if round.command !~ 'owner' and others() is distinct from before then
				raise exception 'rows of others were changed';
			end if;
		exception when sqlstate 'XX000' or sqlstate 'XX001' or sqlstate 'XX002' or raise_exception then
			outcome := sqlerrm;
		when others then
			null;
		end;
		rollback;
		insert into results values (round::text, outcome);
		commit;
	end loop;
end $$;
grant execute on procedure attack_all(text, integer[]) to test_policy_ann;

select set_up('payload->>''of'' = current_user and attack()');
set session authorization test_policy_ann;
call attack_all('attacks', '{1, 2, 3, 5, 9}');
reset session authorization;
select set_up('attack() and payload->>''of'' = current_user');
set session authorization test_policy_ann;
call attack_all('attacks', '{1, 2, 5}');
call attack_all('late_attacks', '{1, 2, 5, 6}');
reset session authorization;
select set_up('attack_planned(1) and payload->>''of'' = current_user');
set session authorization test_policy_ann;
call attack_all('attacks', '{1, 2}');
reset session authorization;
select count(*) > 100 as are_many from results;
select * from results where outcome is not null;
drop schema test_hostile_policy cascade;
drop role test_policy_ann, test_policy_bob;
