-- A column without time zone in "pending" means another moment in each session.
\set VERBOSITY default
set client_min_messages = error;
create schema test_zone;
set search_path = test_zone, public;
create table task (id integer primary key, due timestamp not null, day date not null, at timestamptz not null, hour time not null, taken timestamptz);
create index on task (id) where taken is null;
create procedure attach(pending text) language plpgsql as $$ begin
	perform queue_attach('task', 'task', pending => pending, order_by => 'id', on_claim => 'taken = call_time');
	perform queue_detach('task');
end $$;
set client_min_messages = warning;
call attach('taken is null and due <= call_time');
call attach('taken is null and call_time >= day');
call attach('taken is null and due between now() and now()');
call attach('taken is null and due::timestamptz <= call_time');
call attach('taken is null and day = call_time::date');
call attach('taken is null and 5 < extract(hour from call_time::timestamp)');
call attach('taken is null and case when id > 0 then due <= any (array[call_time]) end');
-- These mean the same in each.
call attach('taken is null and due at time zone ''UTC'' <= call_time');
call attach('taken is null and due <= ''2026-01-01'' and day < ''2026-01-01''');
call attach('taken is null and at <= call_time');
call attach('taken is null and day + hour < due');
drop schema test_zone cascade;
