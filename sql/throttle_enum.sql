-- Throttled resources that values of enums name, as in the article that the throttle
-- comes from. A value stands for its label.
set client_min_messages = warning;
create schema test_throttle_enum;
set search_path = test_throttle_enum, public;
create type resource as enum ('Expensive Cache Rebuild #1', 'rebuild', 'a "quoted" label');
create type other as enum ('rebuild', 'never created', 'renamed');

select throttle_create('Expensive Cache Rebuild #1'::resource, '1 hour');
select lock_throttled_resource('Expensive Cache Rebuild #1'::resource, 'apphost 1 pid 1234') as first,
       lock_throttled_resource('Expensive Cache Rebuild #1'::resource, 'apphost 1 pid 5435') as second;
select resource, throttle_interval, grants, last_locker_details from throttled_resource order by resource;

-- One resource, however it is named: as text, untyped, or as the same label of another enum.
select throttle_create('rebuild'::resource, '1 hour', 4);
select lock_throttled_resource('rebuild'::resource, 'an enum') as an_enum,
       lock_throttled_resource('rebuild'::text, 'a text') as a_text,
       lock_throttled_resource('rebuild', 'untyped') as untyped,
       lock_throttled_resource('rebuild'::other, 'another enum') as another_enum,
       lock_throttled_resource('rebuild'::resource, 'too many') as too_many;
select throttle_create('a "quoted" label', '1 hour');
select lock_throttled_resource('a "quoted" label'::resource, 'x');
select lock_throttled_resource(value, 'y') from unnest(enum_range(null::resource)) as value;

-- Untyped parameters are text: they need not be a label of anything.
select throttle_create('no label', '1 hour');
prepare untyped as select lock_throttled_resource($1, $2);
execute untyped('no label', 'x');
-- The same in the protocol that drivers use, where psql knows it (from 16 on).
select :VERSION_NUM >= 160000 as has_bind \gset
\set call 'select true as is_text \\gset'
\if :has_bind
\set call 'select not lock_throttled_resource($1, $2) and $1 = ''no label'' as is_text \\bind ''no label'' ''x'' \\gset'
\endif
:call
select :'is_text'::boolean as is_text;
prepare typed (resource, text) as select lock_throttled_resource($1, $2);
execute typed('rebuild', 'x');
-- So are the string types, and domains over them.
create domain name_of_resource as text;
select lock_throttled_resource('no label'::varchar, 'x') as varchar,
       lock_throttled_resource('no label'::char(8), 'x') as bpchar,
       lock_throttled_resource('no label'::name, 'x') as name,
       lock_throttled_resource('no label'::name_of_resource, 'x') as domain;

select throttle_alter('rebuild'::resource, throttle_interval => '2 hours');
select throttle_alter('rebuild'::other, grants => 9);
select throttle_interval, grants from throttled_resource where resource = 'rebuild';

-- What was the label when the throttle was made is its name.
alter type other rename value 'rebuild' to 'built again';
select lock_throttled_resource('rebuild', 'x');
\set VERBOSITY sqlstate
select lock_throttled_resource('built again'::other, 'x');
select lock_throttled_resource('never created'::other, 'x');
select throttle_alter('never created'::other, '1 hour');
select throttle_drop('never created'::other);
select throttle_drop('never created'::other, if_exists => true);
select throttle_create('rebuild'::resource, '1 hour');
select throttle_create(null::resource, '1 hour');
select throttle_alter(null::resource);
select throttle_drop(null::resource);
select lock_throttled_resource(null::resource, 'x') is null as null_in_null_out,
       lock_throttled_resource('rebuild'::resource, null) is null as also;
select lock_throttled_resource('rebuild'::resource, ' ');
-- What has no name is refused as before.
select lock_throttled_resource(1, 'x');
begin read only;
select lock_throttled_resource('rebuild'::resource, 'x');
rollback;

select throttle_drop('rebuild'::resource), throttle_drop('Expensive Cache Rebuild #1'::resource);
select throttle_drop('a "quoted" label'), throttle_drop('no label');
drop schema test_throttle_enum cascade;
