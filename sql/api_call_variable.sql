-- A variable whose name a column has is reached as call.<name>.
create schema test_call_variable;
set client_min_messages = warning;
set search_path = test_call_variable, public;
create table jobs (id integer primary key, state text not null default 'new', error text, lease text);
create index on jobs (id) where state = 'new';
insert into jobs values (1);
select queue_attach(
	'jobs', 'jobs', 'state = ''new''', 'id',
	on_claim => 'state = ''taken'', lease = extract(epoch from call.lease)::integer::text',
	on_fail => 'state = ''failed'', error = call.error || coalesce(error, '' first'')',
	lease => '5 minutes');
select queue_fail_row('jobs', j, 'broken') from queue_pop_rows(null::jobs) j;
select * from jobs;
\set VERBOSITY sqlstate
select queue_attach('none', 'jobs', 'call.nothing is null', 'id', 'state = ''taken''');
drop schema test_call_variable cascade;
