-- The wording of our own errors; all other tests look at the SQLSTATE alone.
set client_min_messages = warning;
create schema test_errors;
set search_path = test_errors, public;
select queue_create('jobs', archive => true);

create function show_error(command text) returns text language plpgsql as $$
declare
	message text;
	detail text;
	hint text;
begin
	execute command;
	return 'no error';
exception when others then
	get stacked diagnostics message = message_text, detail = pg_exception_detail, hint = pg_exception_hint;
	return concat_ws(' | ', sqlstate, message, nullif(detail, ''), nullif(hint, ''));
end $$;

select show_error(command)
from unnest(array[
	$$select queue_pop(null)$$,
	$$select queue_send('jobs', null)$$,
	$$select queue_complete('jobs', null, 1)$$,
	$$select queue_complete_many('jobs', '{1,NULL}', '{1,1}')$$,
	$$select queue_send_many('jobs', '{NULL}')$$,
	$$select queue_pop('jobs', 0)$$,
	$$select queue_send('jobs', '1', 40000)$$,
	$$select queue_pop('jobs', lease => '-1 minute')$$,
	$$select queue_fail('jobs', 1, 1, retry_in => '-1 minute')$$,
	$$select queue_complete_many('jobs', '{1,2}', '{1}')$$,
	$$select queue_complete_many('jobs', '{{1}}', '{1}')$$,
	$$select queue_purge('jobs', 'done')$$,
	$$select queue_pop('a b')$$,
	$$select queue_create('n2345678901234567890123456789012345678901234567890123456789012345')$$,
	$$select queue_pop('emials')$$,
	$$select queue_pop('test_errors."Emi''als"')$$,
	$$select queue_drop('emials')$$,
	$$select queue_create('jobs')$$
]) with ordinality as c(command, n)
order by n;

alter table jobs_archive rename to gone;
drop table gone;
select queue_send('jobs', '1') as id \gset
select attempt from queue_pop('jobs');
select show_error(format('select queue_complete(''jobs'', %s, 1)', :id));

create schema test_errors_2;
select queue_create('test_errors_2.jobs');
alter table test_errors_2.jobs rename to more_jobs;
alter index test_errors_2.jobs_pkey rename to more_jobs_pkey;
alter index test_errors_2.jobs_priority_run_at_id_idx rename to more_jobs_claim;
alter sequence test_errors_2.jobs_id_seq rename to more_jobs_id_seq;
alter table test_errors_2.more_jobs set schema test_errors;
select show_error($$select queue_pop('jobs')$$);

-- PostgreSQL's own.
begin read only;
select show_error($$select queue_pop('jobs')$$);
rollback;
create role regress_queue_errors;
grant usage on schema test_errors to regress_queue_errors;
drop table more_jobs;
set role regress_queue_errors;
select show_error($$select queue_pop('jobs')$$);
select show_error($$select queue_pause('jobs')$$);
reset role;

drop schema test_errors, test_errors_2 cascade;
drop role regress_queue_errors;
