-- A session that goes through more queues than its cache holds, round and round, finds in each round as
-- many as are kept.
set queue_ext.claim_path = auto;

select count(queue_create('turn_' || i)) from generate_series(1, 60) as i;
-- The memory of what is kept of queues; plans are not told from those of others.
create view kept as
	select name, ident, total_bytes from pg_backend_memory_contexts
	where name in ('queue_ext definition', 'queue_ext fragments', 'queue_ext compiled claim', 'queue_ext queue name',
		'CachedPlanSource', 'CachedPlanQuery', 'CachedPlan', 'SPI Plan');
-- Of the queues of one round: those that the call finds, and those that are kept at the end.
create function go_round(queues integer, out hits integer, out kept integer) language plpgsql as $$
begin
	hits = 0;
	for i in 1 .. queues loop
		if exists (select from kept where name = 'queue_ext definition' and ident = 'turn_' || i) then
			hits = hits + 1;
		end if;
		perform queue_pop('turn_' || i);
	end loop;
	select count(*) into kept from kept where name = 'queue_ext definition' and ident like 'turn\_%';
end $$;

-- What a queue takes that is popped from, and is empty: the definition, and the statements of a sweep.
select go_round(1);
create table before as select sum(total_bytes) as bytes from kept;
select go_round(21) is not null as is_warm;
select (sum(total_bytes) - (select bytes from before)) / 20 as bytes from kept \gset
select :bytes < 48 * 1024 as is_small;
select sum(total_bytes) / count(*) filter (where name = 'queue_ext definition') < 32 * 1024 as is_small
from kept where name like 'queue_ext %';

-- All are found where all fit.
select go_round(60) is not null as is_warm;
select * from go_round(60);

-- A pop of a managed queue needs no statements.
set queue_ext.definition_cache_size = '3MB';
select go_round(60) is not null as is_warm;
select * from go_round(60);
-- A path that needs a statement for each call has some left, and prepares the others again.
set queue_ext.claim_path = portable;
select count(queue_send('turn_' || i, '1')), count(queue_send('turn_' || i, '2')) from generate_series(1, 60) as i;
do $$
begin
	for i in 1 .. 120 loop
		if (select (queue_pop('turn_' || 1 + i % 60)).id) is null then
			raise exception 'turn_% has no job', 1 + i % 60;
		end if;
	end loop;
end $$;
reset queue_ext.claim_path;
do $$ begin for i in 1 .. 60 loop execute format('delete from turn_%s', i); end loop; end $$;

-- A cache for a third of them. At first the least recently used ones make room.
set queue_ext.definition_cache_size = '700kB';
select go_round(60) is not null as is_warm;
select go_round(60) is not null as is_warm;
select go_round(60) is not null as is_warm;
select hits >= kept * 3 / 4 as is_in_proportion, kept between 10 and 40 as is_bound from go_round(60);
select hits >= kept * 3 / 4 as is_in_proportion, kept between 10 and 40 as is_bound from go_round(60);
-- The queue that is used in between is found, too: it is no newer than those.
create function go_by_turns(out hits integer) language plpgsql as $$
begin
	hits = 0;
	for i in 1 .. 59 loop
		perform queue_pop('turn_' || i);
		if exists (select from kept where name = 'queue_ext definition' and ident = 'turn_60') then
			hits = hits + 1;
		end if;
		perform queue_pop('turn_60');
	end loop;
end $$;
select go_by_turns() is not null as is_warm;
select hits >= 55 as is_found from go_by_turns();
-- A few queues that are new are all kept after their first use.
select count(queue_create('new_' || i)) from generate_series(1, 5) as i;
do $$ begin for i in 1 .. 5 loop perform queue_pop('new_' || i); end loop; end $$;
select count(*) from kept where ident like 'new\_%';
-- Those that have come back leave in the end for ones that do so, too.
do $$ begin for i in 1 .. 300 loop perform queue_pop('turn_' || 20 + i % 5); end loop; end $$;
select count(*) from kept where name = 'queue_ext definition' and ident between 'turn_20' and 'turn_24';
reset queue_ext.definition_cache_size;

-- Many spellings of a name leave no more behind than a few.
select count(*) as names from kept where name = 'queue_ext queue name' \gset
do $$
begin
	for i in 0 .. 15 loop
		perform queue_pop((select string_agg(case when (i >> n::integer - 1) & 1 = 1 then upper(c) else c end, '' order by n)
			from regexp_split_to_table('turn_1', '') with ordinality as t(c, n)));
	end loop;
end $$;
select count(*) <= :names + 8 as is_bound from kept where name = 'queue_ext queue name';

select count(queue_drop('turn_' || i)) from generate_series(1, 60) as i;
select count(queue_drop('new_' || i)) from generate_series(1, 5) as i;
drop function go_round(integer), go_by_turns();
drop view kept;
drop table before;
