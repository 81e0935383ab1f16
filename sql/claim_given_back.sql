-- What a transaction has locked, and leaves as it is, is in its order again, also where it has seen the rows twice: once before a
-- sweep, which its call for more needed, and once after that.
set client_min_messages = warning;
create schema test_given_back;
set search_path = test_given_back, public;
create table x (id integer primary key, prio integer not null, state text not null default 'new');
create index on x (prio, id desc) where state = 'new';
select queue_attach('x', 'x', pending => 'state = ''new''', order_by => 'prio, id desc', claim_mode => 'transaction');
create function pop(n integer) returns text language sql as $$
	select string_agg(r.id::text, ' ') from queue_pop_rows(null::x, 'x', n) as r $$;
begin;
insert into x values (6, -1);
select string_agg(id::text, ' ') as jobs from queue_pop_rows(null::x, 'x', 20);
insert into x select i, 5 from generate_series(7, 16) as i;
commit;
select string_agg(id::text, ' ') as jobs from queue_pop_rows(null::x, 'x', 20);
insert into x select i, -1 from generate_series(17, 21) as i;
-- Whether those that nobody has told come late depends on the time.
select count(*) from queue_pop_rows(null::x, 'x', 20);
select string_agg(id::text, ' ') as jobs from queue_pop_rows(null::x, 'x', 3);
select pop(20);
begin;
select pop(3);
rollback;
begin;
savepoint s;
select pop(2);
rollback to s;
select pop(4);
insert into x values (22, -1), (23, 6);
select cardinality(string_to_array(pop(30), ' ')) as jobs;
commit;
select pop(30);
-- So many that a ring would not learn of them if each were told twice. The sweep, when it is due, reads again what the
-- transaction has locked.
create table y (id integer primary key, state text not null default 'new');
select queue_attach('y', 'y', pending => 'state = ''new''', order_by => 'id', claim_mode => 'transaction');
insert into y select i from generate_series(1, 100) as i;
begin;
select count(*) from queue_pop_rows(null::y, 'y', 40);
savepoint s;
select string_agg(id::text, ' ') as jobs from queue_pop_rows(null::y, 'y', 2);
select pg_sleep(0.3);
select count(*) from queue_pop_rows(null::y, 'y', 10);
rollback;
select string_agg(id::text, ' ') as jobs from queue_pop_rows(null::y, 'y', 5);
-- A row that the transaction has completed is told of twice: as one that was written, and as one that was taken.
create table z (id integer primary key, state text not null default 'new');
select queue_attach('z', 'z', pending => 'state = ''new''', order_by => 'id', claim_mode => 'transaction');
insert into z select unnest('{5, 1, 2, 3, 4, 6, 7, 8}'::integer[]);
begin;
select string_agg(id::text, ' ') as jobs from queue_pop_rows(null::z, 'z', 2);
select pg_sleep(0.3);
select string_agg(id::text, ' ') as jobs from queue_pop_rows(null::z, 'z', 8);
select queue_complete_row('z', z) from z where id = 5;
rollback;
select string_agg(id::text, ' ') as jobs from queue_pop_rows(null::z, 'z', 8);
drop schema test_given_back cascade;
