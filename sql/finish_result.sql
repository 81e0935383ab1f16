-- Results: what a job was completed with is kept with it in the archive, and queue_result finds it.
set client_min_messages = warning;
create schema test_result;
set search_path = test_result, public;
create function error_of(command text) returns text language plpgsql as $$
declare
	detail text;
	hint text;
begin
	execute command;
	return 'none';
exception when others then
	get stacked diagnostics detail = pg_exception_detail, hint = pg_exception_hint;
	return concat_ws(' | ', sqlstate, sqlerrm, nullif(detail, ''), nullif(hint, ''));
end $$;
select queue_create('jobs', archive => true);
create function result_of(job bigint) returns text language sql as $$
	select concat_ws(' ', state, case when finished_at between now() - interval '1 hour' and clock_timestamp() then 'now' end, result)
	from queue_result('jobs', job)
$$;

-- With one job, with none, with null; the JSON null is a result.
select count(*) from queue_send_many('jobs', '{1,2,3,4,5,6,7,8,9}');
select id, attempt from queue_pop('jobs', 9, lease => '1 hour');
select queue_complete('jobs', 1, 1, '{"sent": true}'), queue_complete('jobs', 2, 1), queue_complete('jobs', 3, 1, null),
	queue_complete('jobs', 4, 1, result => 'null');
select id, state, result, result is null as without from jobs_archive order by id;
-- A stale receipt keeps nothing.
select queue_complete('jobs', 5, 9, '"stale"'), queue_complete('jobs', 1, 1, '"again"');
select id, result_of(id) from unnest('{1,2,3,4,5}'::bigint[]) as id;
-- Large.
select queue_complete('jobs', 5, 1, jsonb_build_object('text', string_agg(md5(n::text), ''))) from generate_series(1, 2000) as n;
select length(result ->> 'text') from queue_result('jobs', 5);

-- Each job of a batch has its own, in whatever order the ids are; an id that is given twice keeps the one of either.
select queue_complete_many('jobs', '{8,99,6,7}', '{1,1,1,2}', array['8', '99', '6', '7']::jsonb[]);
select id, result_of(id) from unnest('{6,7,8,99}'::bigint[]) as id;
select queue_complete_many('jobs', '{7}', '{1}', results => '{null}');
select queue_complete_many('jobs', '{9}', '{1}', null);
select id, result_of(id) from unnest('{7,9}'::bigint[]) as id;
select queue_complete_many('jobs', '{}', '{}', '{}');
select error_of($$select queue_complete_many('jobs', '{1,2}', '{1,1}', '{1}')$$);
select error_of($$select queue_complete_many('jobs', '{1}', '{1}', '{{1}}')$$);
select error_of($$select queue_complete_many('jobs', '{}', '{}', '{1}')$$);

-- With the next pop.
select count(*) from queue_send_many('jobs', '{10,11}');
select completed, id, attempt from queue_complete_pop('jobs', null, null);
select completed, id, attempt from queue_complete_pop('jobs', 10, 1, result => '"ten"');
select completed, id from queue_complete_pop('jobs', 10, 1, result => '"late"');
select completed, id from queue_complete_pop('jobs', 11, 1);
select id, result_of(id) from unnest('{10,11}'::bigint[]) as id;
select error_of($$select queue_complete_pop('jobs', null, null, result => '1')$$);

-- Every state. A dead job has the time of its death; it is requeued, and then has none.
select queue_send('jobs', '12', run_at => 'infinity'), queue_send('jobs', '13', max_attempts => 1), queue_send('jobs', '14'), queue_send('jobs', '15');
update jobs set priority = 1 where id > 13;
select id from queue_pop('jobs');
select result_of(13);
select queue_fail('jobs', 13, 1, 'no');
select id from queue_pop('jobs', lease => '1 hour');
select queue_cancel('jobs', 15);
select id, result_of(id) from unnest('{12,13,14,15,16,-1}'::bigint[]) as id;
select dead_at = (queue_result('jobs', 13)).finished_at as same from jobs where id = 13;
select * from queue_result('jobs', 99);
-- As queue_counts has it.
select state, count(*) from jobs, queue_result('jobs', id) group by state order by state;
select * from queue_counts('jobs');
select queue_requeue('jobs', 13), result_of(13);
-- A job whose lease has ended is ready, and dead if the attempt was the last.
select id from queue_pop('jobs', lease => '0.01 s');
select pg_sleep(0.02);
select result_of(13);
update jobs set dead_at = '2001-01-01', leased_until = '2001-01-01' where id = 13;
select state, finished_at = '2001-01-01' as then from queue_result('jobs', 13);

-- It belongs to the transaction that completes.
begin;
savepoint s;
select queue_complete('jobs', 14, 1, '"undone"');
select result_of(14);
rollback to s;
select result_of(14);
select queue_complete('jobs', 14, 1, '"done"');
commit;
select result_of(14);
-- Reading it writes nothing, and sees what was committed meanwhile also in REPEATABLE READ.
begin transaction isolation level repeatable read read only;
select result_of(14);
commit;
begin transaction isolation level serializable;
select result_of(14);
commit;

-- The arguments.
select error_of($$select queue_result(null, 1)$$);
select error_of($$select queue_result('jobs', null)$$);
select error_of($$select queue_result('none', 1)$$);
create table things (id integer primary key, taken boolean not null default false);
create index on things (id) where not taken;
select queue_attach('things', 'things', 'not taken', 'id', 'taken = true');
select error_of($$select queue_result('things', 1)$$);
select error_of($$select queue_complete('things', 1, 1, '1')$$);

-- An archive that was switched off still knows what it has; a new result has no place then, and the job is left.
select queue_alter('jobs', archive => false);
select id, result_of(id) from unnest('{1,14}'::bigint[]) as id;
select queue_send('jobs', '16'), queue_send('jobs', '17');
select id from queue_pop('jobs', 2, lease => '1 hour');
select error_of($$select queue_complete('jobs', 16, 1, '1')$$);
select error_of($$select queue_complete('jobs', 999, 1, '1')$$);
select error_of($$select queue_complete_many('jobs', '{16,17}', '{1,1}', '{null,1}')$$);
select error_of($$select queue_complete_pop('jobs', 16, 1, result => '1')$$);
select id, result_of(id) from unnest('{16,17}'::bigint[]) as id;
select queue_complete_many('jobs', '{16,17}', '{1,1}', '{null,null}');
select id, result_of(id) from unnest('{16,17}'::bigint[]) as id;

-- An archive of an older version: it goes on, without results, until queue_upgrade adds the column. A session that
-- has the statements learns of the change.
select queue_alter('jobs', archive => true);
alter table jobs_archive drop column result;
select queue_send_many('jobs', '{18,19,20,21}');
select id from queue_pop('jobs', 4, lease => '1 hour');
select queue_complete('jobs', 18, 1), queue_complete_many('jobs', '{19}', '{1}');
select id, result_of(id) from unnest('{1,18,19}'::bigint[]) as id;
select error_of($$select queue_complete('jobs', 20, 1, '20')$$);
select error_of($$select queue_complete_many('jobs', '{20}', '{1}', '{20}')$$);
select queue_upgrade('jobs');
select queue_upgrade('jobs');
select queue_complete('jobs', 20, 1, '20'), queue_complete_many('jobs', '{21}', '{1}', '{21}');
select id, result_of(id) from unnest('{1,18,20,21}'::bigint[]) as id;
-- One's own column of another type is in the way; a column that may not be null, too.
alter table jobs_archive alter column result type text;
select error_of($$select queue_upgrade('jobs')$$);
select queue_send('jobs', '22');
select id from queue_pop('jobs', lease => '1 hour');
select error_of($$select queue_complete('jobs', 22, 1, '22')$$);
select queue_complete('jobs', 22, 1);
select result_of(22);
alter table jobs_archive drop column result;

-- The archive is missing.
drop table jobs_archive;
select queue_send('jobs', '23');
select id from queue_pop('jobs', lease => '1 hour');
select error_of($$select queue_complete('jobs', 23, 1, '23')$$);
select id, result_of(id) from unnest('{1,23}'::bigint[]) as id;
select queue_alter('jobs', archive => true);
select queue_complete('jobs', 23, 1, '23'), result_of(23);

-- Rights: a role that completes needs INSERT on the archive, and one that asks SELECT on both tables. Policies hold.
create role regress_result;
grant usage on schema test_result to regress_result;
grant select, delete on jobs to regress_result;
grant insert, select (id) on jobs_archive to regress_result;
select queue_send('jobs', '24');
select id from queue_pop('jobs', lease => '1 hour');
set role regress_result;
select error_of($$select queue_complete('jobs', 24, 1, '24')$$);
select error_of($$select * from queue_result('jobs', 24)$$);
reset role;
grant select on jobs_archive to regress_result;
set role regress_result;
select result_of(24);
reset role;
alter table jobs_archive enable row level security;
create policy seen on jobs_archive to regress_result using (id <> 24);
set role regress_result;
select result_of(24), result_of(23);
reset role;
drop schema test_result cascade;
drop role regress_result;
