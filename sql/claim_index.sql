-- What claims read of a managed queue's own index: the rows that the order and the clock name, and few others.
set client_min_messages = warning;
create schema test_claim_index;
set search_path = test_claim_index, public;
set queue_ext.claim_path = auto;

-- The entries of the queue's indexes that a command reads.
create function entries(queue text) returns bigint language sql volatile return
	(select sum(pg_stat_get_xact_tuples_returned(indexrelid)) from pg_index where indrelid = queue::regclass and indisvalid and not indisprimary);
create function reads(queue text, command text) returns bigint language plpgsql as $$
declare
	before bigint = entries(queue);
begin
	execute command;
	return entries(queue) - before;
end $$;

-- Many jobs are scheduled, in each of three priorities; a few are ready in all. What is read besides is what the ring
-- keeps of those to come.
select queue_create('few', kinds => true, lease => '1 hour');
insert into few (payload, priority, run_at, kind)
select '"scheduled"', i % 3 * 2, clock_timestamp() + interval '1 hour', 'a' from generate_series(1, 15000) as i;
insert into few (payload, priority, run_at, kind)
select '"ready"', priority, '2001-01-01', kind from generate_series(-1, 5) as priority, unnest(array['a', 'b']) as kind;
analyze few;
select reads('few', $$select queue_pop('few', 10)$$) < 1500 as is_flat;
select reads('few', $$select queue_pop('few', 10)$$) < 1500 as is_flat;
select reads('few', $$select queue_pop('few')$$) < 1500 as is_flat;
select count(queue_release('few', id, attempt)) from few where attempt = 1;
alter table few alter payload set statistics 100; -- begins anew
select reads('few', $$select queue_pop('few', 20, kinds => '{a,b}')$$) < 1500 as is_flat;
select reads('few', $$select queue_pop('few', 20, kinds => '{a,b}')$$) < 1500 as is_flat;
-- What is leased is no candidate.
alter table few alter payload set statistics 200;
select count(*) from queue_pop('few');
select count(*), sum(not_pending) from queue_claim_stats where queue = 'test_claim_index.few';
select array_agg(payload order by id) = array_fill('"ready"'::jsonb, array[14]) as are_all from few where attempt > 0;

-- All jobs in every state, with equal times, in few priorities: the same as the order and the condition say.
create procedure fill(queue text, jobs integer, seed double precision) language plpgsql as $$
begin
	perform setseed(seed);
	execute format($insert$
		truncate %1$I;
		insert into %1$I (payload, priority, run_at, leased_until, dead_at, kind)
		select '1', floor(random() * 4) * 1000 - 2000,
			case floor(random() * 6) when 0 then '-infinity' when 1 then 'infinity' when 2 then now() + interval '1 hour'
				when 3 then now() - interval '1 hour' else '2001-01-01'::timestamptz + floor(random() * 500) * interval '1 minute' end,
			case floor(random() * 4) when 0 then now() + interval '1 hour' when 1 then '2002-02-02' end,
			case floor(random() * 9) when 0 then '2003-03-03'::timestamptz when 1 then 'infinity' end,
			case floor(random() * 4) when 0 then 'a' when 1 then 'b' when 2 then 'B' end
		from generate_series(1, %2$s)$insert$, queue, jobs);
end $$;
-- The ids that pops of so many jobs return until there is none, and what they should be.
create function in_order(queue text, max_jobs integer, kinds text[] default null) returns text language plpgsql as $$
declare
	wanted bigint[];
	found bigint[] = '{}';
	batch bigint[];
begin
	execute format($select$
		select coalesce(array_agg(id order by priority, run_at, id), '{}') from %I
		where dead_at is null and run_at <= clock_timestamp() and coalesce(leased_until <= clock_timestamp(), true)
			and ($1 is null or kind = any ($1))$select$, queue) into wanted using kinds;
	loop
		batch = array(select id from queue_pop(queue, max_jobs, kinds => in_order.kinds));
		exit when batch = '{}';
		found = found || batch;
	end loop;
	return case when found = wanted then 'right' else format('%s wanted, %s found', cardinality(wanted), cardinality(found)) end
		|| case when cardinality(wanted) < 100 then ', few' else '' end;
end $$;
select queue_create('all', kinds => true, lease => '1 hour');
call fill('all', 3000, 0.1);
select in_order('all', 100);
call fill('all', 3000, 0.2);
select in_order('all', 1000);
call fill('all', 1500, 0.3);
select in_order('all', 7);
call fill('all', 5000, 0.4);
select in_order('all', 50, '{a}'), in_order('all', 333, '{b,B}'), in_order('all', 100);
call fill('all', 5000, 0.5);
begin isolation level serializable;
select in_order('all', 100, '{a,b,none}'), in_order('all', 100);
commit;

-- The first jobs to come stand in the last priorities, and there are more than a ring has room for.
select queue_create('late');
begin \; insert into late (payload, priority, run_at)
select '1', i, clock_timestamp() + interval '6 seconds' - i * interval '1 ms' from generate_series(1, 2000) as i \; commit \; select count(*) from queue_pop('late');
do $$
begin
	while clock_timestamp() < (select min(run_at) from late) loop
		perform pg_sleep(0.001);
	end loop;
end $$;
select run_at <= clock_timestamp() as is_due from queue_pop('late');

-- What is dead to all is marked in the index by the first who comes by it, in SERIALIZABLE, too.
select queue_create('dead');
insert into dead (payload) select '1' from generate_series(1, 5000);
set synchronous_commit = on; -- so that what is dead is known at once
delete from dead;
insert into dead (payload, run_at) values ('2', '2001-01-01');
reset synchronous_commit;
set default_transaction_isolation = serializable;
select reads('dead', $$select queue_pop('dead')$$) > 4000 as are_dead;
alter table dead alter payload set statistics 100;
select reads('dead', $$select queue_pop('dead')$$) < 1000 as are_marked;
reset default_transaction_isolation;

-- Without its index a queue is read like any other table; with one in another order, too.
call fill('all', 2000, 0.6);
drop index all_priority_run_at_id_idx;
select in_order('all', 100);
call fill('all', 2000, 0.7);
create index on "all" (priority, run_at desc, id) where dead_at is null;
create function backwards(smallint, smallint) returns integer language sql immutable return btint2cmp($2, $1);
create operator class backwards for type smallint using btree as
	operator 1 >, operator 2 >=, operator 3 =, operator 4 <=, operator 5 <, function 1 backwards(smallint, smallint);
create index on "all" (priority backwards, run_at, id) where dead_at is null;
select in_order('all', 100);
call fill('all', 2000, 0.8);
create index on "all" (priority, run_at, id) include (attempt) where dead_at is null;
select in_order('all', 100);
-- A priority may be null where the owner allows it: such a job is the last.
alter table "all" alter priority drop not null;
truncate "all";
insert into "all" (payload, priority) values ('null', null), ('1', 5);
select payload from queue_pop('all', 2);
insert into "all" (payload, priority, kind) values ('null', null, 'a'), ('1', 5, 'b'), ('2', 5, null);
select payload from queue_pop('all', 3, kinds => '{a,b}');
truncate "all";
alter table "all" alter priority set not null;

-- Workers of some kinds to whom a policy applies.
call fill('all', 2000, 0.9);
create role regress_claim_index;
grant usage on schema test_claim_index to regress_claim_index;
grant all on all tables in schema test_claim_index to regress_claim_index;
alter table "all" enable row level security;
create policy even on "all" to regress_claim_index using (id % 2 = 0);
insert into "all" (payload, kind, priority, leased_until) select '1', 'c', -5000, 'infinity' from generate_series(1, 15000);
analyze "all";
set role regress_claim_index;
select in_order('all', 100, '{b,a}'), in_order('all', 100);
reset role;
select in_order('all', 100, '{b,a}'), in_order('all', 100);
insert into "all" (payload, kind, priority) select '1', kind, 7 from unnest(array['a', 'b']) as kind, generate_series(1, 20);
set role regress_claim_index;
select reads('all', $$select queue_pop('all', 5, kinds => '{b,a}')$$) < 1500 as is_flat;
reset role;
select reads('all', $$select queue_pop('all', 5, kinds => '{b,a}')$$) < 1500 as is_flat;

select queue_drop('few'), queue_drop('all'), queue_drop('late'), queue_drop('dead');
drop schema test_claim_index cascade;
drop role regress_claim_index;
