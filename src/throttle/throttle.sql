-- Throttles: what may be done once in an interval, or a few times. Rights on the
-- table are rights on the throttles; nobody but the extension's owner has any at
-- first.

create table @extschema@.throttled_resource (
	resource text collate "C" not null,
	throttle_interval interval not null,
	grants integer not null default 1,
	last_locked timestamptz not null default '-infinity',
	last_locker_details text not null default '',
	earlier_grants timestamptz[] not null default '{}',
	constraint throttled_resource_pkey primary key (resource),
	constraint throttled_resource_throttle_interval_check
		check (throttle_interval operator(pg_catalog.>) '0'),
	constraint throttled_resource_grants_check
		check (grants operator(pg_catalog.>=) 1 and grants operator(pg_catalog.<=) 1000),
	constraint throttled_resource_last_locker_details_check
		check ((last_locked operator(pg_catalog.=) '-infinity'
				and last_locker_details operator(pg_catalog.=) '')
			   or (last_locked operator(pg_catalog.>) '-infinity'
				   and pg_catalog.btrim(last_locker_details) operator(pg_catalog.<>) '')),
	constraint throttled_resource_earlier_grants_check
		check (earlier_grants operator(pg_catalog.=) '{}'
			   or (last_locked operator(pg_catalog.>) '-infinity'
				   and pg_catalog.array_ndims(earlier_grants) operator(pg_catalog.=) 1
				   and pg_catalog.array_lower(earlier_grants, 1) operator(pg_catalog.=) 1
				   and pg_catalog.array_position(earlier_grants, null) is null))
) with (fillfactor = 50);

revoke all on @extschema@.throttled_resource from public;

comment on table @extschema@.throttled_resource is
	'what is throttled: how often it may be locked, when it last was, and by whom';
comment on column @extschema@.throttled_resource.grants is
	'how many times it may be locked in any interval of that length';
comment on column @extschema@.throttled_resource.last_locked is
	'when it was last locked; -infinity: never';
comment on column @extschema@.throttled_resource.last_locker_details is
	'what the last who locked it said of itself';
comment on column @extschema@.throttled_resource.earlier_grants is
	'when it was locked before that, as far as it matters: at most grants - 1 times, in order';

select pg_catalog.pg_extension_config_dump('@extschema@.throttled_resource', '');

create function @extschema@.throttle_create(
	resource text,
	throttle_interval interval,
	grants integer default 1
) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_create';

comment on function @extschema@.throttle_create(text, interval, integer) is
	'throttles a resource: it may be locked once in an interval, or that many times';

create function @extschema@.throttle_create(
	resource anyenum,
	throttle_interval interval,
	grants integer default 1
) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_create_enum';

comment on function @extschema@.throttle_create(anyenum, interval, integer) is
	'throttles the resource that a value of an enum names by its label';

create function @extschema@.throttle_alter(
	resource text,
	throttle_interval interval default null,
	grants integer default null
) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_alter';

comment on function @extschema@.throttle_alter(text, interval, integer) is
	'changes how often a throttled resource may be locked; what is null stays as it is';

create function @extschema@.throttle_alter(
	resource anyenum,
	throttle_interval interval default null,
	grants integer default null
) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_alter_enum';

comment on function @extschema@.throttle_alter(anyenum, interval, integer) is
	'changes how often the resource that an enum names may be locked; what is null stays as it is';

create function @extschema@.throttle_drop(resource text, if_exists boolean default false) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_drop';

comment on function @extschema@.throttle_drop(text, boolean) is
	'drops a throttled resource; false if there is none and that is no error';

create function @extschema@.throttle_drop(resource anyenum, if_exists boolean default false) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_drop_enum';

comment on function @extschema@.throttle_drop(anyenum, boolean) is
	'drops the throttled resource that an enum names; false if there is none and that is no error';

create function @extschema@.lock_throttled_resource(resource text, details text) returns boolean
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_lock_throttled_resource';

comment on function @extschema@.lock_throttled_resource(text, text) is
	'true for whoever may use the resource now, if its transaction commits; false at once for others';

create function @extschema@.lock_throttled_resource(resource anyenum, details text) returns boolean
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_lock_throttled_resource_enum';

comment on function @extschema@.lock_throttled_resource(anyenum, text) is
	'true for whoever may use the resource that an enum names now, if its transaction commits; false at once for others';
