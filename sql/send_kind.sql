-- The kind of a job: sent, stored, returned by claims and archived.
set client_min_messages = warning;
create schema test_send_kind;
set search_path = test_send_kind, public;
select queue_create('jobs', archive => true, lease => '1 hour');

select queue_send('jobs', '1', kind => 'mail');
select queue_send('jobs', '2', 0, '2001-01-01', 3, 'mail');
select queue_send('jobs', '3');
select queue_send('jobs', '4', kind => null);
select queue_send_many('jobs', '{5,6}', kind => 'Ärger');
select queue_unique_insert('jobs', '7', kind => 'once');
-- The kind is no part of what is compared.
select queue_unique_insert('jobs', '7', kind => 'other'), queue_unique_insert('jobs', '7');
select queue_unique_insert_many('jobs', '{7,8,9}', kind => 'twice');
select queue_send('jobs', '10', kind => repeat('k', 255)) is not null as sent;
select payload, priority, max_attempts, left(kind, 8) as kind, octet_length(kind) as bytes from jobs order by id;

-- Claims return it.
select payload, kind from queue_pop('jobs', 4);
select payload, kind, (queue_fail('jobs', id, attempt, retry_in => '0')) as failed from queue_pop('jobs');
select completed, payload, kind from queue_complete_pop('jobs', 1, 1);
call queue_pop_wait('jobs', '0', lease => '1 hour') \gset
select :'payload' as payload, :'kind' as kind;
select id, state, kind from jobs_archive;
-- Sent by a statement, and claimed by the other paths.
set queue_ext.claim_path = portable;
select queue_send('jobs', '11', kind => 'mail') is not null as sent;
select count(*) from queue_send_many('jobs', '{12,13}', kind => 'mail');
select inserted from queue_unique_insert('jobs', '14', kind => 'mail');
select inserted from queue_unique_insert_many('jobs', '{14,15,16}', kind => 'mail');
select payload, kind from jobs where kind = 'mail' order by id;
select payload, left(kind, 8) as kind from queue_pop('jobs', 3);
set queue_ext.claim_path = tid;
select payload, kind from queue_pop('jobs', 3);
reset queue_ext.claim_path;

-- Bad input.
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
select error_of($$select queue_send('jobs', '1', kind => '')$$);
select error_of($$select queue_send('jobs', '1', kind => repeat('k', 256))$$);
select error_of($$select queue_send_many('jobs', '{1}', kind => '')$$);
select error_of($$select queue_unique_insert('jobs', '1', kind => '')$$);
select error_of($$select queue_unique_insert_many('jobs', '{1}', kind => '')$$);

-- A default of the column is for jobs that are sent without one, also where no statement is made.
alter table jobs alter column kind set default 'any';
select queue_purge('jobs') > 0 as purged;
select count(queue_send('jobs', '1')), count(queue_send('jobs', '2', kind => 'mail'));
set queue_ext.claim_path = portable;
select count(queue_send('jobs', '3')), count(queue_send('jobs', '4', kind => 'mail'));
reset queue_ext.claim_path;
select payload, kind from queue_pop('jobs', 4);

-- A sender needs a right on the column only for jobs that have a kind.
create role regress_send_kind;
grant usage on schema test_send_kind to regress_send_kind;
grant insert (payload, priority, run_at, max_attempts, unique_key), select on jobs to regress_send_kind;
set role regress_send_kind;
select queue_send('jobs', '1') is not null as sent, (queue_unique_insert('jobs', '1')).inserted;
\set VERBOSITY sqlstate
select queue_send('jobs', '1', kind => 'mail');
select queue_unique_insert('jobs', '2', kind => 'mail');
\set VERBOSITY default
reset role;
grant insert (kind) on jobs to regress_send_kind;
set role regress_send_kind;
select queue_send('jobs', '1', kind => 'mail') is not null as sent, (queue_unique_insert('jobs', '2', kind => 'mail')).inserted;
reset role;

-- An error of a constraint shows the kind that was given, to one who may not read it.
\set SHOW_CONTEXT never
alter table jobs add constraint known check (kind in ('mail', 'any'));
revoke select on jobs from regress_send_kind;
grant select (id) on jobs to regress_send_kind;
set role regress_send_kind;
select queue_send('jobs', '1', run_at => '2001-01-01', kind => 'post');
select queue_send_many('jobs', '{1}', run_at => '2001-01-01', kind => 'post');
reset role;

-- A table of 0.1 has no kinds.
\getenv source_directory PG_ABS_SRCDIR
\set layout :source_directory /test/layouts/queue_0_1.sql
\set ECHO none
\set queue old
\i :layout
\set ECHO all
select queue_adopt('old');
select error_of($$select queue_send('old', '1', kind => 'mail')$$);
select error_of($$select queue_send_many('old', '{1}', kind => 'mail')$$);
select error_of($$select queue_unique_insert('old', '1', kind => 'mail')$$);
select error_of($$select queue_unique_insert_many('old', '{1}', kind => 'mail')$$);
select queue_send_many('old', '{1,2,3,4,5}', kind => null) is not null as sent;
select payload, kind from queue_pop('old');
set queue_ext.claim_path = tid;
select payload, kind from queue_pop('old');
set queue_ext.claim_path = portable;
select payload, kind from queue_pop('old');
reset queue_ext.claim_path;
select completed, payload, kind from queue_complete_pop('old', null, null);
call queue_pop_wait('old', '0', lease => '1 hour') \gset
\echo :payload :{?kind}
-- Nor has one with a column of that name that is its own.
alter table old add kind integer default 7;
select queue_send('old', '6') is not null as sent;
select error_of($$select queue_send('old', '1', kind => 'mail')$$);
select payload, kind from queue_pop('old');
alter table old drop kind;
select queue_upgrade('old');
select queue_send('old', '7', kind => 'mail') is not null as sent;
select payload, kind from queue_pop('old');

reset search_path;
drop schema test_send_kind cascade;
drop role regress_send_kind;
