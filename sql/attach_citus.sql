-- Tables that Citus has distributed, by a fake of its catalog: no queue, as their rows are in other tables.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create role regress_citus;
create schema test_citus authorization regress_citus;
set search_path = test_citus, public;
set role regress_citus;
create table hashed (id integer primary key, state integer not null default 0);
create index on hashed (id) where state = 0;
insert into hashed select generate_series(1, 3);
create table reference (like hashed including all);
create table local (like hashed including all);
create table single (like hashed including all);
create table parted (id integer not null, state integer not null default 0) partition by list (id);
create table parted_1 partition of parted for values in (1);
create index on parted (id) where state = 0;
create table plain (like hashed including all);
insert into plain select generate_series(1, 3);
create function error_of(command text) returns text language plpgsql as $$
begin
	execute command;
	return 'none';
exception when others then
	return sqlstate;
end $$;
create function attach_all() returns table (name text, error text) language sql as $$
	select t, error_of(format('select queue_attach(%1$L, %1$L, ''state = 0'', ''id'', ''state = 1'')', t))
	from unnest('{hashed,reference,local,single,parted,plain}'::text[]) t
$$;
create function detach_all() returns bigint language sql as $$
	select count(*) filter (where queue_detach(t)) from unnest('{hashed,reference,local,single,parted,plain}'::text[]) t
$$;

-- What anybody can make is no catalog of Citus.
create table pg_dist_partition (logicalrelid regclass);
insert into pg_dist_partition values ('hashed'), ('plain');
select * from attach_all();
select detach_all();
drop table pg_dist_partition;
select error_of('create table pg_catalog.pg_dist_partition (logicalrelid regclass)');
reset role;

-- As Citus has it.
set allow_system_table_mods = on;
create table pg_catalog.pg_dist_partition (
	logicalrelid regclass not null,
	partmethod "char" not null,
	partkey text,
	colocationid integer not null default 0,
	repmodel "char" not null default 'c',
	autoconverted boolean default false
);
create unique index pg_dist_partition_logical_relid_index on pg_catalog.pg_dist_partition (logicalrelid);
set role regress_citus;
select * from attach_all() where error <> 'none';
select detach_all();
reset role;
insert into pg_dist_partition (logicalrelid, partmethod, colocationid, repmodel) values
	('hashed', 'h', 1, 's'), ('reference', 'n', 2, 't'), ('local', 'n', 0, 's'), ('single', 'n', 3, 's'),
	('parted_1', 'h', 1, 's');
set role regress_citus;
select * from attach_all();
\set VERBOSITY default
select queue_attach('hashed', 'hashed', 'state = 0', 'id', 'state = 1');
\set VERBOSITY terse

-- Unique inserts read the table without the planner, too.
select error_of($$select queue_unique_insert_row(row(1, 0)::hashed, '{id}')$$),
       error_of($$select queue_unique_insert_row(row(1, 0)::plain, '{id}')$$);

-- Distributed when there is a queue: Citus says with a relcache message that it has been.
select queue_create('jobs');
select queue_send('jobs', '{}');
select * from queue_pop_rows(null::plain);
reset role;
insert into pg_dist_partition (logicalrelid, partmethod) values ('plain', 'h'), ('jobs', 'h');
alter table plain set (fillfactor = 90);
alter table jobs set (fillfactor = 90);
set role regress_citus;
select error_of('select queue_pop_rows(null::plain)'), error_of('select queue_pop(''jobs'')'),
       error_of('select queue_send(''jobs'', ''{}'')');
select queue_detach('jobs');
select queue_adopt('jobs');
select queue_detach('plain');

-- As if Citus had taken the new table at once.
reset role;
create function take() returns event_trigger language plpgsql as $$
begin
	insert into pg_dist_partition (logicalrelid, partmethod, colocationid)
	select objid, 'n', 3 from pg_event_trigger_ddl_commands() where command_tag = 'CREATE TABLE';
end $$;
create event trigger regress_citus on ddl_command_end when tag in ('CREATE TABLE') execute function take();
select error_of('select queue_create(''taken'')');
drop event trigger regress_citus;

-- A catalog of another kind tells nothing.
drop table pg_catalog.pg_dist_partition;
create table pg_catalog.pg_dist_partition (logicalrelid oid);
insert into pg_dist_partition values ('hashed'::regclass);
set role regress_citus;
select * from attach_all() where error <> 'none';
reset role;
drop table pg_catalog.pg_dist_partition;
reset allow_system_table_mods;

drop schema test_citus cascade;
drop role regress_citus;
