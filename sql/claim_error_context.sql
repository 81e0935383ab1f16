-- An error on the direct path or by TID says which queue it was, and which row, by its key: that row raises it for
-- ever, and somebody has to look at it.
set client_min_messages = error;
create schema test_error_context;
set search_path = test_error_context, public;
create function context_of(command text) returns text language plpgsql as $$
declare
	context text;
begin
	execute command;
	return 'no error';
exception when others then
	get stacked diagnostics context = pg_exception_context;
	return concat_ws(' | ', sqlstate, sqlerrm, nullif(substring(context from '^(.*?)\n?SQL statement "' || left(command, 6)), ''));
end $$;
-- On each path, in turn; what the paths say alike is said once.
create function by_paths(command text) returns table (paths text, error text) language sql as $$
	select string_agg(path, ' ' order by n), error from unnest('{direct,tid,portable}'::text[]) with ordinality as p(path, n),
		lateral (select context_of(command) as error from set_config('queue_ext.claim_path', path, true)) as c group by error order by min(n) $$;

-- Keys of the types that are told.
create table tries (id integer primary key, tries smallint not null default 32767, state integer not null default 0);
create index on tries (id) where state = 0;
insert into tries values (1, 0, 1), (2, 32767, 0);
create table pairs (name text, number bigint, token uuid, small smallint, word varchar(200), tries smallint not null default 32767, state integer not null default 0,
	primary key (number, name, token, small, word));
create index on pairs (number) where state = 0;
insert into pairs values ('ü "x"', -5, '01234567-89ab-cdef-0123-456789abcdef', 7, repeat('ä', 100));
-- Of other types the row's place is told, and so it is of a key whose text is compressed.
create table days (day date primary key, tries smallint not null default 32767, state integer not null default 0);
create index on days (day) where state = 0;
insert into days values ('2000-01-01');
create table long (word text primary key, tries smallint not null default 32767, state integer not null default 0);
create index on long (word) where state = 0;
insert into long values (repeat('x', 3000));
create table keyless (tries smallint not null default 32767, state integer not null default 0);
create index on keyless (tries) where state = 0;
insert into keyless default values;
do $$
declare
	name text;
begin
	foreach name in array '{tries,pairs,days,long,keyless}'::text[] loop
		perform queue_attach(name, name::regclass, 'state = 0', case name when 'tries' then 'id' when 'pairs' then 'number' when 'days' then 'day' when 'long' then 'word' else 'tries' end,
			'state = 1, tries = tries + 1', on_complete => case when name <> 'keyless' then 'tries = tries + 1' end);
	end loop;
end $$;
select * from by_paths('select queue_pop_rows(null::tries)');
select * from by_paths('select queue_complete_row(''tries'', (select t from tries as t where id = 2))');
select * from by_paths('select queue_pop_rows(null::pairs)');
select * from by_paths('select queue_pop_rows(null::days)');
select * from by_paths('select queue_pop_rows(null::long)');
select * from by_paths('select queue_pop_rows(null::keyless)');
-- Of several at once the direct path says which.
insert into tries values (3);
update tries set tries = 0 where id = 2;
select * from by_paths('select queue_pop_rows(null::tries, max_jobs => 2)');

-- A condition that fails for a row; and a check, of which the error has the rest.
create table bad (id integer primary key, divisor integer, state integer not null default 0, check (state < 2));
create index on bad (id) where state = 0;
insert into bad values (1, 1, 1), (2, 1, 0), (3, 0, 0);
do $$ begin perform queue_attach('bad', 'bad', 'state = 0 and 1 / divisor > 0', 'id', 'state = state + id'); end $$;
select * from by_paths('select queue_pop_rows(null::bad)');

-- A partition has its columns in another order, and a queue of its own rows.
create table parted (id integer, tries smallint not null default 32767, state integer not null default 0, primary key (id)) partition by range (id);
create table parted_1 (state integer not null default 0, gone text, tries smallint not null default 32767, id integer not null);
alter table parted_1 drop column gone;
alter table parted attach partition parted_1 for values from (0) to (10);
create index on parted (id) where state = 0;
insert into parted values (4);
do $$ begin perform queue_attach('parted', 'parted', 'state = 0', 'id', 'state = 1, tries = tries + 1'); end $$;
select regexp_replace(error, 'OID \d+', 'OID N') as error, paths from by_paths('select queue_pop_rows(null::parted)');

-- A managed queue: a claim, a completion, and what is sent.
select queue_create('jobs', lease => '1 hour');
select queue_send('jobs', '1'), queue_send('jobs', '2') \g /dev/null
alter table jobs add column tries smallint not null default 0 check (attempt < 2 and payload <> '"no"');
select id from queue_pop('jobs');
select queue_release('jobs', 1, 1);
select * from by_paths('select queue_pop(''jobs'')');
select * from by_paths('select queue_send(''jobs'', ''"no"'')');
select * from by_paths('select queue_send_many(''jobs'', ''{1,"\"no\""}'')');
select * from by_paths('select queue_unique_insert(''jobs'', ''"no"'')');

-- Whoever may not see the row is not told its key.
create role regress_error_context;
grant usage on schema test_error_context to regress_error_context;
create function fails(id integer) returns boolean language sql stable as 'select 1 / (id - 2) <> 0';
create table hidden (id integer primary key, state integer not null default 0);
create index on hidden (id) where state = 0;
insert into hidden values (1, 1), (2, 0);
alter table hidden enable row level security;
create policy seen on hidden using (fails(id));
grant select, update on hidden to regress_error_context;
do $$ begin perform queue_attach('hidden', 'hidden', 'state = 0', 'id', 'state = 1'); end $$;
set role regress_error_context;
select * from by_paths('select queue_pop_rows(null::hidden)');
reset role;

drop schema test_error_context cascade;
drop role regress_error_context;
