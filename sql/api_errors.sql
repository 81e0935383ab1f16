-- The wording of our own errors, but for those of api_errors_more; other tests look at the SQLSTATE alone,
-- unless that does not say which of several errors it is.
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
	$$select queue_purge('jobs', 'finished')$$,
	$$select queue_pop('a b')$$,
	$$select queue_create('n2345678901234567890123456789012345678901234567890123456789012345')$$,
	$$select queue_pop('emials')$$,
	$$select queue_pop('test_errors."Emi''als"')$$,
	$$select queue_drop('emials')$$,
	$$select queue_create('jobs')$$,
	$$select throttle_create(' ', '1 hour')$$,
	$$select throttle_alter('it''s')$$,
	$$select lock_throttled_resource('it''s', ' ')$$,
	$$select throttle_create('test_errors', '1 hour')$$,
	$$select throttle_create('test_errors', '1 hour')$$,
	$$select throttle_drop('test_errors')$$,
	$$select mutex_acquire(' ')$$,
	$$select timeout_acquire('test_errors', '0')$$,
	$$select lock_set_retries('test_errors', -1)$$
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
alter index test_errors_2.jobs_unique_key_idx rename to more_jobs_unique_key;
alter index test_errors_2.jobs_dead_at_idx rename to more_jobs_dead;
alter sequence test_errors_2.jobs_id_seq rename to more_jobs_id_seq;
alter table test_errors_2.more_jobs set schema test_errors;
select show_error($$select queue_pop('jobs')$$);

-- Of tables that are attached.
create table rows (id integer primary key, state integer not null default 0, made integer generated always as (id) stored);
create index on rows (id) where state = 0;
create table no_key (state integer);
create domain no_key_domain as no_key;
create index on no_key (state) where state = 0;
create view a_view as select * from rows;
create table ruled (state integer);
create rule nothing as on update to ruled do instead nothing;
select queue_attach('rows', 'rows', 'state = 0', 'id', 'state = 1'),
       queue_attach('again', 'rows', 'state = 0', 'id', 'state = state'),
       queue_attach('no_key', 'no_key', 'state = 0', 'state', 'state = 1', on_release => 'state = 0');
insert into rows (id) values (1);
select show_error(command)
from unnest(array[
	$$select queue_attach('rows', 'rows', 'state = 0', on_claim => 'state = 1')$$,
	$$select queue_attach('public.q', 'rows', 'state = 0', on_claim => 'state = 1')$$,
	$$select queue_attach('q', 'rows', 'state = 0')$$,
	$$select queue_attach('q', 'rows', 'state = 0', claim_mode => 'session', on_claim => 'state = 1')$$,
	$$select queue_attach('q', 'rows', 'state = 0', claim_mode => 'lock', on_claim => 'state = 1')$$,
	$$select queue_attach('q', 'no_key', 'state = 0', claim_mode => 'session')$$,
	$$select queue_attach('q', 'a_view', 'state = 0', on_claim => 'state = 1')$$,
	$$select queue_attach('q', 'ruled', 'state = 0', on_claim => 'state = 1')$$,
	$$select queue_attach('q', 'pg_class', 'true', claim_mode => 'transaction')$$,
	$$select queue_attach('q', 'rows', 'state = 0; select 1', on_claim => 'state = 1')$$,
	$$select queue_attach('q', 'rows', 'state = 0', '1', 'state = 1')$$,
	$$select queue_attach('q', 'rows', 'state = 0', 'count(*)', 'state = 1')$$,
	$$select queue_attach('q', 'rows', 'state = 0', on_claim => '(state, id) = (1, 2)')$$,
	$$select queue_attach('q', 'rows', 'state = 0', on_claim => 'state = 1, state = 2')$$,
	$$select queue_attach('q', 'rows', 'state = 0', on_claim => 'made = 1')$$,
	$$select queue_attach('q', 'rows', 'state = $1', on_claim => 'state = 1')$$,
	$$select queue_attach('q', 'rows', 'exists (select from jobs for update)', on_claim => 'state = 1')$$,
	$$select queue_attach('q', 'rows', 'state = 0', on_claim => 'state = 1', lease => '0')$$,
	$$select queue_attach('q', null, 'state = 0', on_claim => 'state = 1')$$,
	$$select queue_attach('q', 'rows', null, on_claim => 'state = 1')$$,
	$$select queue_attach('q', 'rows', 'state = 0', on_claim => 'state = 1', claim_mode => null)$$,
	$$select queue_detach('none')$$,
	$$select queue_pop('rows')$$,
	$$select queue_send('rows', '1')$$,
	$$select queue_purge('rows')$$,
	$$select queue_complete('rows', 1, 1)$$,
	$$select queue_drop('rows')$$,
	$$select queue_alter('rows', archive => true)$$,
	$$select queue_pop_rows(null::no_key, 'rows')$$,
	$$select queue_pop_rows(1)$$,
	$$select queue_pop_rows(null::rows)$$,
	$$select queue_pop_rows(null::ruled)$$,
	$$select queue_pop_rows(null::rows, 'again')$$,
	$$select queue_complete_row('rows', null::rows)$$,
	$$select queue_complete_row('rows', row(1)::no_key)$$,
	$$select queue_complete_row('rows', 1)$$,
	$$select queue_complete_row('rows', row(1)::no_key::no_key_domain)$$,
	$$select queue_complete_row('no_key', row(1)::no_key)$$,
	$$select queue_release_row('rows', r) from rows r$$,
	$$select queue_fail_row('rows', r) from rows r$$,
	$$select queue_extend_row('rows', r) from rows r$$
]) with ordinality as c(command, n)
order by n;
drop index rows_id_idx;
select queue_attach('unserved', 'rows', 'state = 0', 'id desc', 'state = 1');

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
