-- Where a list of candidates could lead astray.
set client_min_messages = warning;
create schema test_ring_edges;
set search_path = test_ring_edges, public;
\set VERBOSITY sqlstate

-- VACUUM gives the file's end back, and candidates stand there.
create table shrinking (id integer primary key, done boolean not null default false, filler text not null default repeat('x', 500));
insert into shrinking (id) select generate_series(1, 400);
select queue_attach('shrinking', 'shrinking', 'not done', 'id', 'done = true', wake => true);
select id from queue_pop_rows(null::shrinking);
delete from shrinking;
vacuum (truncate on) shrinking;
select pg_relation_size('shrinking') as size;
select id from queue_pop_rows(null::shrinking);
insert into shrinking (id) values (1000);
select id from queue_pop_rows(null::shrinking);

select queue_create('jobs', lease => '1 hour');
select count(*) from queue_send_many('jobs', array_fill(to_jsonb(repeat('x', 500)), array[400]));
select id from queue_pop('jobs');
delete from jobs;
vacuum (truncate on) jobs;
select queue_send('jobs', '1') as sent;
select id from queue_pop('jobs');
select id from queue_pop('jobs');

-- More rows of one rank than are read at once: one can only go on behind a key.
create table ties (id integer primary key, prio integer not null, state text not null default 'new');
create index on ties (prio) where state = 'new';
insert into ties select i, 0 from generate_series(1, 1000) as i;
select queue_attach('ties', 'ties', 'state = ''new''', 'prio', 'state = ''taken''');
select count(*), count(distinct id) from queue_pop_rows(null::ties, max_jobs => 700);
select count(*), count(distinct id) from queue_pop_rows(null::ties, max_jobs => 700);

-- Nor does a key make the order total of which the order has a part.
create table halves (a integer, b integer, state text not null default 'new', primary key (a, b));
create index on halves (a) where state = 'new';
insert into halves select 1 + i / 701, i from generate_series(1, 800) as i;
select queue_attach('halves', 'halves', 'state = ''new''', 'a', 'state = ''taken''');
select count(*) filter (where a = 1) as first, count(*) filter (where a = 2) as second
from (select (queue_pop_rows(null::halves, max_jobs => 10)).a from generate_series(1, 70)) as popped;

-- A sweep that fails is made up for. (A DELETE tells no claim of anything.)
create table failing (id integer primary key, divisor integer not null default 1, state text not null default 'new');
create index on failing (id) where state = 'new';
insert into failing select generate_series(1, 100);
select queue_attach('failing', 'failing', 'state = ''new'' and 10 / divisor > 0', 'id', 'state = ''taken''', wake => true);
select id from queue_pop_rows(null::failing);
insert into failing values (-1, 0), (0, 1);
select id from queue_pop_rows(null::failing);
delete from failing where divisor = 0;
select id from queue_pop_rows(null::failing);
-- Rows that the claim does not learn of one by one: only a sweep finds them.
create table failing_sweep (like failing including all);
insert into failing_sweep select generate_series(1, 100);
create trigger told after insert or update on failing_sweep for each statement execute function queue_wake();
select queue_attach('failing_sweep', 'failing_sweep', 'state = ''new'' and 10 / divisor > 0', 'id', 'state = ''taken''', wake => true);
select id from queue_pop_rows(null::failing_sweep);
insert into failing_sweep values (-1, 0), (0, 1);
select id from queue_pop_rows(null::failing_sweep);
delete from failing_sweep where divisor = 0;
select id from queue_pop_rows(null::failing_sweep);

-- What a default, a domain or a constraint says of a job holds for jobs that are sent.
truncate jobs;
create domain tenant as text constraint named check (value is not null);
alter table jobs add column tenant tenant;
select queue_send('jobs', '2');
alter table jobs drop column tenant;
alter table jobs add column tenant text not null default 'us', add column size integer check (size < 10),
	add column tag text unique;
select queue_send('jobs', '2') is not null as sent;
alter table jobs alter column size set default 20;
select queue_send('jobs', '2');
alter table jobs alter column size set default 1, alter column tag set default 'one';
select count(*) from queue_send_many('jobs', array['3', '4']::jsonb[]);
select queue_send('jobs', '3') is not null as sent;
select queue_send('jobs', '4');
alter table jobs alter column tag drop default, alter column size drop default;
update jobs set size = 0;
alter table jobs alter column size set not null;
select queue_send('jobs', '5');
select payload, tenant, size, tag from jobs order by id;

-- A ring that is full lets its last candidates go, for those that rank before them, and reads
-- them again before any behind them.
select queue_create('crowded', lease => '1 hour');
select count(*) from queue_pop('crowded');
select count(*) from queue_send_many('crowded', array_fill('1'::jsonb, array[512]), 10);
select count(*) from queue_send_many('crowded', array_fill('1'::jsonb, array[100]), 5);
select count(*) from queue_send_many('crowded', array_fill('1'::jsonb, array[60]), 20);
select priority, count(*) from queue_pop('crowded', 512) group by 1 order by 1;
select priority, count(*) from queue_pop('crowded', 100) group by 1 order by 1;
select priority, count(*) from queue_pop('crowded', 100) group by 1 order by 1;

-- More rows of one transaction than are remembered one by one: the first of them in the order is
-- remembered, and ranks before what the ring holds.
select queue_create('many', lease => '1 hour');
select count(*) from queue_send_many('many', array_fill('1'::jsonb, array[300]), 20);
select priority from queue_pop('many');
begin;
select count(*) from queue_send_many('many', array_fill('1'::jsonb, array[1024]), 30);
select count(*) from queue_send_many('many', array_fill('1'::jsonb, array[10]), 10);
commit;
select priority, count(*) from queue_pop('many', 20) group by 1 order by 1;

-- A pop that reads its queue once more does not take what it has taken, though the lease is over.
select count(*) from queue_send_many('crowded', array_fill('1'::jsonb, array[4]));
select count(*) from queue_pop('crowded');
select count(*), count(distinct id) from queue_pop('crowded', 100, lease => '1 microsecond');
-- Nor one that has read on, when the first leases are over, and then reads from the head.
select queue_create('read_on', lease => '1 hour');
select count(*) from queue_send_many('read_on', array_fill('1'::jsonb, array[600]));
select count(*), count(distinct id) from queue_pop('read_on', 1000, lease => '1 microsecond');

-- Two queues of one table: what one claims another may be waiting for.
create table steps (id integer primary key, state integer not null default 0);
insert into steps values (1);
select queue_attach('step_0', 'steps', 'state = 0', 'id', 'state = 1', wake => true),
       queue_attach('step_1', 'steps', 'state = 1', 'id', 'state = 2', wake => true);
select id from queue_pop_rows(null::steps, 'step_1');
select id from queue_pop_rows(null::steps, 'step_0');
select id, state from queue_pop_rows(null::steps, 'step_1');

-- Candidates of many subtransactions.
create function send_in_blocks(jobs integer) returns void language plpgsql as $$
begin
	for i in 1 .. jobs loop
		begin
			perform queue_send('jobs', to_jsonb(i), -1);
		exception when division_by_zero then null;
		end;
	end loop;
end $$;
alter table jobs alter column size set default 1;
select send_in_blocks(3000);
select count(*), min(payload::integer), max(payload::integer) from queue_pop('jobs', 3000) where priority = -1;

\set VERBOSITY default
drop schema test_ring_edges cascade;
