-- A queue's table is the user's: triggers, columns, constraints, HOT updates.
set client_min_messages = warning;
create schema test_table;
set search_path = test_table, public;
select queue_create('jobs', archive => true);

-- Triggers fire for every kind of write.
create table log (n bigint generated always as identity, what text);
create function log() returns trigger language plpgsql as $$
begin
	insert into log (what) values (concat_ws(' ', tg_table_name, tg_when, tg_level, tg_op,
		case when tg_level = 'ROW' then coalesce(new.payload, old.payload)::text end));
	return coalesce(new, old);
end $$;
create trigger row_before before insert or update or delete on jobs for each row execute function log();
create trigger row_after after insert or update or delete on jobs for each row execute function log();
create trigger statement_after after insert or update or delete on jobs execute function log();
create trigger row_after after insert on jobs_archive for each row execute function log();
select queue_send('jobs', '1');
select queue_send_many('jobs', '{2,3}');
select id from queue_pop('jobs');
select queue_extend('jobs', 1, 1);
select queue_complete('jobs', 1, 1);
select queue_cancel('jobs', 2);
select queue_purge('jobs');
select what from log order by n;
drop trigger row_before on jobs;
drop trigger row_after on jobs;
drop trigger statement_after on jobs;
drop trigger row_after on jobs_archive;

-- A trigger may forbid, or change what is written.
create function tenfold() returns trigger language plpgsql as $$
begin
	if new.payload = '13' then
		raise check_violation;
	end if;
	new.payload := to_jsonb(10 * new.payload::integer);
	return new;
end $$;
create trigger tenfold before insert on jobs for each row execute function tenfold();
select queue_send('jobs', '4') as id \gset
select payload from queue_pop('jobs');
select queue_cancel('jobs', :id);
\set VERBOSITY sqlstate
select queue_send('jobs', '13');
drop trigger tenfold on jobs;
create function forbid() returns trigger language plpgsql as 'begin return null; end';
create trigger forbid before update on jobs for each row execute function forbid();
select queue_send('jobs', '5') as id \gset
select count(*) as popped from queue_pop('jobs');
drop trigger forbid on jobs;
select count(*) as popped from queue_pop('jobs');

-- More columns, fewer, in another order; constraints.
alter table jobs add column tenant integer not null default 7;
alter table jobs add column loud text generated always as (upper(payload::text)) stored;
alter table jobs add column scratch text;
alter table jobs drop column scratch;
alter table jobs drop column last_error;
alter table jobs add column last_error text;
alter table jobs add unique (tenant, id);
create table child (job bigint references jobs on delete cascade);
select queue_send('jobs', '"six"') as id \gset
insert into child values (:id);
select id = :id as popped, attempt, payload, last_error from queue_pop('jobs', 10);
select queue_fail('jobs', :id, 1, 'broken', '0');
select id = :id as popped, attempt, payload, last_error from queue_pop('jobs');
select tenant, loud from jobs where id = :id;
select queue_complete_many('jobs', array[:id], '{2}') = :id as completed;
select count(*) as children from child;

-- A claim and a heartbeat are HOT updates: they write no index.
select queue_alter('jobs', archive => false);
select queue_create('hot', max_attempts => 3);
select count(*) from queue_send_many('hot', array(select to_jsonb(n) from generate_series(1, 20) as n));
create view updates as
select n_tup_upd as updates, n_tup_hot_upd as hot
from pg_stat_xact_user_tables
where schemaname = 'test_table' and relname = 'hot';
begin;
select updates as updates_before, hot as hot_before from updates \gset
select count(*) from queue_pop('hot', 5);
select count(*) from queue_pop('hot');
select queue_extend('hot', 1, 1);
select queue_extend_many('hot', '{2,3}', '{1,1}');
select queue_release('hot', 4, 1);
select updates - :updates_before as updates, hot - :hot_before as hot from updates;
commit;
-- The last attempt leaves the claim index, so it cannot be.
begin;
update hot set attempt = 2, leased_until = null where id = 1;
select updates as updates_before, hot as hot_before from updates \gset
select id, attempt from queue_pop('hot');
select updates - :updates_before as updates, hot - :hot_before as hot from updates;
commit;

-- A row of nulls is null, though the column is not: the index has it.
create type pair as (a integer, b integer);
alter table hot add both_null pair default row(null, null);
create index on hot (id) where both_null is null;
select count(*) from queue_send_many('hot', '{30,31}');
select queue_send('hot', '32') > 0 as sent;
begin;
set local enable_seqscan = off;
set local enable_bitmapscan = off;
select count(*) from hot where both_null is null and id > 20;
rollback;

drop schema test_table cascade;
