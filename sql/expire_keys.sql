-- Unique inserts and jobs that have expired: such a job counts as what it will be, dead or done, whether it has been ended or
-- not. And what a postponement, a replacement and a requeue leave of an expiry. At the level SERIALIZABLE no look ends a job.
set client_min_messages = warning;
set time zone 'UTC';
create schema test_keys;
set search_path = test_keys, public;
create function error_of(command text) returns text language plpgsql as $$
begin
	execute command;
	return 'none';
exception when others then
	return concat_ws(' | ', sqlstate, sqlerrm);
end $$;
select queue_create('codes', on_expire => 'delete');
select queue_create('dying', on_expire => 'dead');
select queue_create('kept', archive => true, on_expire => 'archive');
create view state as select 'codes' as queue, id, payload->>'v' as v, expires_at <= now() as late, dead_at is not null as dead, run_at > now() as later from codes
	union all select 'dying', id, payload->>'v', expires_at <= now(), dead_at is not null, run_at > now() from dying
	union all select 'kept', id, payload->>'v', expires_at <= now(), dead_at is not null, run_at > now() from kept order by 1, 2;

-- A job that has expired is not there for the next one.
select * from queue_unique_insert('codes', '{"k": 1, "v": 1}', '{k}', expires_at => now());
select * from queue_unique_insert('codes', '{"k": 1, "v": 2}', '{k}', expires_in => '10 minutes');
select * from queue_unique_insert('codes', '{"k": 1, "v": 3}', '{k}', expires_in => '10 minutes');
table state;
call queue_maintain('codes');
table state;
select payload->'v' as v from queue_pop('codes', 9);
truncate codes, dying, kept restart identity;

-- Whatever becomes of it, and whatever the conflict's rule. Scheduled, too, and one that was given back.
create procedure each_rule(queue text, late text, payloads text) language plpgsql as $$
declare
	rule text;
	said text;
begin
	foreach rule in array array['keep', 'replace', 'postpone'] loop
		execute format('truncate %I restart identity', queue);
		execute late using queue;
		select string_agg(concat_ws(' ', id, outcome), ', ') into said from queue_unique_insert_many(queue, payloads::jsonb[], '{k}', on_conflict => rule,
			run_at => now() + interval '1 hour', expires_in => '1 day');
		raise notice '% of %: %', rule, queue, said;
		select string_agg(concat_ws(' ', id, outcome), ', ') into said from queue_unique_insert_many(queue, payloads::jsonb[], '{k}', on_conflict => rule,
			run_at => now() + interval '2 hours', expires_in => '1 day');
		raise notice 'again: %', said;
		execute format($q$select string_agg(concat_ws(' ', id, payload->>'v', case when expires_at <= now() then 'late' else concat_ws(' ', extract(epoch from run_at - now())::bigint, extract(epoch from expires_at - run_at)::bigint) end), ', ' order by id) from %I$q$, queue) into said;
		raise notice 'has: %', said;
	end loop;
end $$;
set client_min_messages = notice;
begin isolation level serializable;
call each_rule('codes', $$select queue_unique_insert($1, '{"k": 1, "v": 0}', '{k}', expires_at => now())$$, $${"{\"k\": 1, \"v\": 1}"}$$);
call each_rule('dying', $$select queue_unique_insert($1, '{"k": 1, "v": 0}', '{k}', expires_at => now(), run_at => '2500-01-01')$$, $${"{\"k\": 1, \"v\": 1}","{\"k\": 2, \"v\": 2}","{\"k\": 1, \"v\": 3}"}$$);
call each_rule('kept', $$with i as (select id from queue_unique_insert($1, '{"k": 1, "v": 0}', '{k}', expires_in => '1 hour')) select id from i$$, $${"{\"k\": 1, \"v\": 1}"}$$);
commit;
set client_min_messages = warning;
truncate codes, dying, kept restart identity;
select inserted from queue_unique_insert('kept', '{"k": 1, "v": 1}', '{k}', expires_in => '1 hour');
select queue_release('kept', id, attempt) from queue_pop('kept');
update kept set expires_at = now();
begin isolation level serializable;
select id, outcome from queue_unique_insert('kept', '{"k": 1, "v": 2}', '{k}', on_conflict => 'replace');
commit;
table state;
-- One that was started in time is there, in hand or not, and one that is not to expire yet, or never.
truncate kept restart identity;
select inserted from queue_unique_insert('kept', '{"k": 1, "v": 1}', '{k}', expires_in => '1 hour');
select id, attempt from queue_pop('kept');
update kept set expires_at = now();
select id, outcome from queue_unique_insert('kept', '{"k": 1, "v": 2}', '{k}');
select queue_fail('kept', 1, 1, 'no', '1 hour');
select id, outcome from queue_unique_insert('kept', '{"k": 1, "v": 3}', '{k}');
select id, outcome from queue_unique_insert('kept', '{"k": 1, "v": 4}', '{k}', on_conflict => 'replace');
select id, outcome from queue_unique_insert('kept', '{"k": 1, "v": 5}', '{k}', expires_at => 'infinity');
select queue_alter('kept', on_expire => '');
update kept set expires_at = now(), attempt = 0;
select id, outcome from queue_unique_insert('kept', '{"k": 1, "v": 6}', '{k}');
select queue_alter('kept', on_expire => 'archive');
truncate kept restart identity;

-- States that count: dead ones, and done ones where they are remembered, as after the end.
begin isolation level serializable;
select id, outcome from queue_unique_insert('dying', '{"k": 1}', '{k}', expires_at => now());
select id, outcome from queue_unique_insert('dying', '{"k": 1}', '{k}', states => '{dead}');
select id, outcome from queue_unique_insert('dying', '{"k": 1}', '{k}', states => '{done}');
select id, outcome from queue_unique_insert('dying', '{"k": 1}', '{k}', states => '{ready,scheduled,leased}');
commit;
truncate dying restart identity;
begin isolation level serializable;
select id, outcome from queue_unique_insert('codes', '{"k": 1}', '{k}', expires_at => now());
select id, outcome from queue_unique_insert('codes', '{"k": 1}', '{k}', states => '{done}', expires_at => now());
select id, outcome from queue_unique_insert('codes', '{"k": 1}', '{k}', states => '{done}');
commit;
truncate codes restart identity;
select queue_purge('codes', 'done') > 0 as purged;
create function in_hour(queue text) returns table (id bigint, outcome text) language sql as $$
	select id, outcome from queue_unique_insert(queue, '{"k": 2}', '{k}', period => '1 hour', run_at => '2020-01-01', expires_at => '2020-01-01') $$;
begin isolation level serializable;
select * from in_hour('codes');
select * from in_hour('codes');
select id, outcome from queue_unique_insert('codes', '{"k": 2}', '{k}', period => '1 hour', run_at => '2020-01-01', on_conflict => 'replace');
select id, outcome from queue_unique_insert('codes', '{"k": 2}', '{k}', period => '1 hour', run_at => '2020-01-01', states => '{ready,scheduled}');
select * from in_hour('dying');
select * from in_hour('dying');
commit;
call queue_maintain('codes');
call queue_maintain('dying');
select * from in_hour('codes');
select * from in_hour('dying');
truncate codes, dying restart identity;
select queue_purge('codes', 'done') > 0 as purged, queue_purge('dying', 'done') > 0 as purged;

-- By statements: a sender who may read but some columns, of a table with code of users, or under policies.
create role regress_keys_sender;
create role regress_keys_owner;
grant usage on schema test_keys to regress_keys_sender, regress_keys_owner;
grant insert (payload, priority, run_at, max_attempts, unique_key, kind, expires_at), select (id, unique_key, payload, run_at, leased_until, dead_at) on codes, dying to regress_keys_sender;
create procedure as_sender() language plpgsql as $$
declare
	queue text;
	said text;
begin
	set local role regress_keys_sender;
	foreach queue in array array['codes', 'dying'] loop
		select string_agg(concat_ws(' ', id, outcome), ', ') into said from queue_unique_insert_many(queue, array['{"k": 1, "v": 1}', '{"k": 2, "v": 2}']::jsonb[], '{k}', expires_at => '2000-01-01');
		raise notice '%: %', queue, said;
		select string_agg(concat_ws(' ', id, outcome), ', ') into said from queue_unique_insert_many(queue, array['{"k": 1, "v": 3}', '{"k": 2, "v": 4}']::jsonb[], '{k}');
		raise notice '%: %', queue, said;
		select string_agg(concat_ws(' ', id, outcome), ', ') into said from queue_unique_insert_many(queue, array['{"k": 1, "v": 5}', '{"k": 3, "v": 6}']::jsonb[], '{k}');
		raise notice '%: %', queue, said;
		reset role;
		execute format($q$update %I set expires_at = '2000-01-01', attempt = id %% 2 where payload->>'k' in ('1', '3')$q$, queue);
		set local role regress_keys_sender;
		select string_agg(concat_ws(' ', id, outcome), ', ') into said from queue_unique_insert_many(queue, array['{"k": 1, "v": 7}', '{"k": 3, "v": 8}']::jsonb[], '{k}');
		raise notice '%: %, those with an odd id were started', queue, said;
	end loop;
end $$;
set client_min_messages = notice;
call as_sender();
set client_min_messages = warning;
truncate codes, dying restart identity;
alter table codes owner to regress_keys_owner;
alter table dying owner to regress_keys_owner;
grant insert (payload, priority, run_at, max_attempts, unique_key, kind, expires_at), select (id, unique_key, payload, run_at, leased_until, dead_at) on codes, dying to regress_keys_sender;
set client_min_messages = notice;
call as_sender();
-- Code of users: nothing runs as the owner, so the sender has to have the rights, or the job counts until it is ended.
truncate codes, dying restart identity;
create function is_good(p jsonb) returns boolean language plpgsql immutable as $$ begin return current_user <> 'regress_keys_owner'; end $$;
alter table codes add constraint good check (is_good(payload));
alter table dying add constraint good check (is_good(payload));
call as_sender();
truncate codes, dying restart identity;
grant select (expires_at, attempt, released) on codes, dying to regress_keys_sender;
call as_sender();
truncate codes, dying restart identity;
revoke select (expires_at, attempt, released) on codes, dying from regress_keys_sender;
alter table codes drop constraint good;
alter table dying drop constraint good;
alter table codes enable row level security;
create policy readers on codes for select to regress_keys_sender using (true);
create policy senders on codes for insert to regress_keys_sender with check (true);
call as_sender();
set client_min_messages = warning;
alter table codes disable row level security;
truncate codes, dying restart identity;

-- A postponement moves the expiry as far as the time from which the job can be claimed; in whatever time zone.
set time zone 'Europe/Berlin';
create view window_of as select id, run_at - now() as from_now, extract(epoch from expires_at - run_at) as seconds from codes order by id;
begin;
select outcome from queue_unique_insert('codes', '{"k": 1}', '{k}', expires_in => '10 minutes');
select outcome from queue_unique_insert('codes', '{"k": 1}', '{k}', run_at => now() + interval '1 hour', on_conflict => 'postpone');
select from_now, seconds between 600 and 601 as same from window_of;
select outcome from queue_unique_insert('codes', '{"k": 1}', '{k}', run_at => now() + interval '30 minutes', on_conflict => 'postpone');
select outcome from queue_unique_insert('codes', '{"k": 1}', '{k}', run_at => now() + interval '30 minutes', expires_in => '20 minutes', on_conflict => 'postpone');
select from_now, seconds between 600 and 601 as same from window_of;
select outcome from queue_unique_insert('codes', '{"k": 1}', '{k}', run_at => now() + interval '1000 days', on_conflict => 'postpone');
select seconds between 600 and 601 as same from window_of;
select outcome from queue_unique_insert('codes', '{"k": 1}', '{k}', run_at => now() + interval '2000 days', max_delay => '1500 days', on_conflict => 'postpone');
select seconds between 600 and 601 as same from window_of;
select outcome from queue_unique_insert('codes', '{"k": 1}', '{k}', run_at => 'infinity', on_conflict => 'postpone');
select run_at, expires_at from codes;
rollback;
begin;
select outcome from queue_unique_insert('codes', '{"k": 1}', '{k}', run_at => '2500-01-15', expires_in => '10 minutes');
select outcome from queue_unique_insert('codes', '{"k": 1}', '{k}', run_at => '2500-07-15', on_conflict => 'postpone');
select seconds from window_of;
rollback;
-- One that could be claimed since long ago, or without an end; and one that never expires.
begin;
select outcome from queue_unique_insert('codes', '{"k": 1}', '{k}', run_at => '2020-01-01', expires_in => '10 minutes');
select outcome from queue_unique_insert('codes', '{"k": 1}', '{k}', run_at => '2021-01-01', on_conflict => 'postpone');
select extract(epoch from expires_at - created_at) between 600 and 601 as same from codes;
select outcome from queue_unique_insert('codes', '{"k": 1}', '{k}', run_at => now() + interval '1 hour', on_conflict => 'postpone');
select from_now, seconds between 600 and 601 as same from window_of;
update codes set run_at = '-infinity', expires_at = now() + interval '10 minutes';
select outcome from queue_unique_insert('codes', '{"k": 1}', '{k}', run_at => now() + interval '1 hour', on_conflict => 'postpone');
select from_now, seconds between 600 and 601 as same from window_of;
update codes set run_at = now(), expires_at = 'infinity';
select outcome from queue_unique_insert('codes', '{"k": 1}', '{k}', run_at => now() + interval '1 hour', on_conflict => 'postpone');
select expires_at from codes;
update codes set run_at = now(), expires_at = null;
select outcome from queue_unique_insert('codes', '{"k": 1}', '{k}', run_at => now() + interval '1 hour', on_conflict => 'postpone');
select expires_at from codes;
rollback;
select outcome from queue_unique_insert('codes', '{"k": 1}', '{k}', expires_at => '294276-12-31');
select error_of($$select queue_unique_insert('codes', '{"k": 1}', '{k}', run_at => now() + interval '2 days', on_conflict => 'postpone')$$);
set time zone 'UTC';
truncate codes restart identity;

-- While a queue does not say what becomes of expired jobs, what is requeued or replaced loses the expiry that it had.
alter table codes owner to current_user;
insert into codes (payload, expires_at, dead_at) select to_jsonb(n), '2020-01-01', '2020-01-01' from generate_series(1, 4) n;
select queue_alter('codes', on_expire => '');
select inserted from queue_unique_insert('codes', '{"k": 1, "v": 1}', '{k}');
update codes set expires_at = '2020-01-01' where unique_key is not null;
select queue_requeue('codes', 1);
select queue_requeue_many('codes', '{2}');
call queue_requeue_where('codes', 'id = 3');
select id, outcome from queue_unique_insert('codes', '{"k": 1, "v": 2}', '{k}', on_conflict => 'replace');
select id, expires_at from codes order by id;
select queue_alter('codes', on_expire => 'delete');
call queue_maintain('codes');
select id from codes order by id;
-- Who has no right on the column goes on without.
select queue_alter('codes', on_expire => '');
truncate codes restart identity;
create role regress_keys_worker;
grant usage on schema test_keys to regress_keys_worker;
grant select, update (attempt, run_at, leased_until, leased_by, dead_at, max_attempts, released) on codes to regress_keys_worker;
insert into codes (payload, expires_at, dead_at) select to_jsonb(n), '2020-01-01', '2020-01-01' from generate_series(1, 4) n;
set role regress_keys_worker;
select queue_requeue('codes', 1);
select queue_requeue_many('codes', '{2}');
call queue_requeue_where('codes', 'id = 3');
reset role;
select id, expires_at from codes order by id;
grant update (expires_at) on codes to regress_keys_worker;
update codes set dead_at = '2020-01-01';
set role regress_keys_worker;
select queue_requeue('codes', 1);
select queue_requeue_many('codes', '{2}');
call queue_requeue_where('codes', 'id = 3');
reset role;
select id, expires_at from codes order by id;
revoke update (expires_at) on codes from regress_keys_worker;
update codes set dead_at = '2020-01-01', expires_at = '2020-01-01';
select queue_alter('codes', on_expire => 'delete');
set role regress_keys_worker;
select error_of($$select queue_requeue('codes', 1)$$);
reset role;
select queue_alter('codes', on_expire => '');
-- A sender who replaces has it done by the owner, where no code of users runs; else without.
truncate codes restart identity;
grant insert (payload, priority, run_at, max_attempts, unique_key, kind), select (id, unique_key, payload, run_at, leased_until, dead_at) on codes to regress_keys_sender;
create procedure replaces(rule text, what text) language plpgsql as $$
declare
	said text;
begin
	truncate codes restart identity;
	perform queue_unique_insert('codes', '{"k": 1}', '{k}');
	update codes set expires_at = '2020-01-01', run_at = '2000-01-01', created_at = '2000-01-01';
	set local role regress_keys_sender;
	select outcome into said from queue_unique_insert('codes', '{"k": 1, "v": 2}', '{k}', run_at => '2001-01-01', on_conflict => rule);
	reset role;
	raise notice '% %: %, %', rule, what, said, (select concat(expires_at) from codes);
end $$;
set client_min_messages = notice;
call replaces('replace', 'by the owner');
call replaces('postpone', 'by the owner');
create function touch() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger touch before update on codes for each row execute function touch();
grant select (created_at, attempt, released), update (payload, priority, run_at, attempt, leased_until, leased_by, kind, released, progress) on codes to regress_keys_sender;
call replaces('replace', 'by the sender');
call replaces('postpone', 'by the sender');
grant select (expires_at), update (expires_at) on codes to regress_keys_sender;
call replaces('replace', 'with the right');
call replaces('postpone', 'with the right');
set client_min_messages = warning;

drop schema test_keys cascade;
drop role regress_keys_sender, regress_keys_worker, regress_keys_owner;
