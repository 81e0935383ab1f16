-- Above READ COMMITTED an error in a claim left a subtransaction of ours open, and
-- PL/pgSQL's handler undid that instead of its own.
set client_min_messages = warning;
create schema test_error_in_rr;
set search_path = test_error_in_rr, public;
create table jobs (id integer primary key, state text);
create index on jobs (id) where state = 'new';
insert into jobs values (1, 'new');
create table log (note text);
create function fail() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
create trigger fail before update on jobs for each row execute function fail();
select queue_attach('jobs', 'jobs', 'state = ''new''', 'id', 'state = ''taken''');
set default_transaction_isolation = 'repeatable read';
do $$ begin
	begin
		insert into log values ('undone');
		perform queue_pop_rows(null::test_error_in_rr.jobs);
	exception when raise_exception then
		insert into log values ('handled');
	end;
	insert into log values ('after');
end $$;
select * from log;
reset default_transaction_isolation;
drop schema test_error_in_rr cascade;
