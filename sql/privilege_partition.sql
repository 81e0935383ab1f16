-- A unique insert into a partition asks for the rights that INSERT asks for: none on what the
-- partition is a part of, nor on the queues that this carries. It asked for USAGE on their schemas.
set client_min_messages = error;
create role regress_partition;
create schema test_hidden;
create schema test_partition;
create table test_hidden.t (id integer, state text) partition by list (id);
create table test_partition.middle partition of test_hidden.t for values in (1, 2, 3, 4, 5) partition by list (id);
create table test_partition.t1 partition of test_partition.middle for values in (1, 2, 3, 4, 5);
select queue_attach('test_hidden.t', 'test_hidden.t', 'state is null', on_claim => 'state = ''claimed''', wake => true);
select queue_attach('test_partition.t', 'test_partition.middle', 'state is null', on_claim => 'state = ''claimed''');
select queue_attach('test_partition.t1', 'test_partition.t1', 'state is null', on_claim => 'state = ''claimed''');
grant usage on schema test_partition to regress_partition;
grant select, insert on test_partition.t1 to regress_partition;

set role regress_partition;
insert into test_partition.t1 values (1, null);
select * from queue_unique_insert_row(row(2, null)::test_partition.t1, '{id}');
select * from queue_unique_insert_row(row(2, null)::test_partition.t1, '{id}');
select * from queue_unique_insert_rows(array[row(2, null), row(3, null)]::test_partition.t1[], '{id}');
\set VERBOSITY sqlstate
select queue_pop_rows(null::test_partition.t1, 'test_hidden.t');
\set VERBOSITY default
reset role;

-- Two queues of one name, which means neither of them then.
alter table test_partition.middle set schema test_hidden;
set role regress_partition;
select * from queue_unique_insert_row(row(4, null)::test_partition.t1, '{id}');
reset role;

-- A queue is detached while the row is inserted.
create function test_partition.detach() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
	perform queue_detach('test_partition.t1');
	return new;
end $$;
create trigger detach before insert on test_partition.t1 for each row execute function test_partition.detach();
set role regress_partition;
select * from queue_unique_insert_row(row(5, null)::test_partition.t1, '{id}');
reset role;
drop trigger detach on test_partition.t1;
select queue from queues where queue ~ '^test_(hidden|partition)\.' order by queue;
table test_hidden.t order by id;

drop schema test_hidden, test_partition cascade;
drop role regress_partition;
