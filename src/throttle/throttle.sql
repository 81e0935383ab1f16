-- Throttles: resources that may be used once in an interval, or a few times. Rights on the table
-- are rights on the throttles; at first only the extension's owner has any.

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
	'throttled resources: how often each may be locked, and when and by whom it last was';
comment on column @extschema@.throttled_resource.grants is
	'number of locks allowed in any interval of this length';
comment on column @extschema@.throttled_resource.last_locked is
	'time of the last lock; -infinity: never';
comment on column @extschema@.throttled_resource.last_locker_details is
	'details given by the last locker';
comment on column @extschema@.throttled_resource.earlier_grants is
	'times of the locks before the last, in order, at most grants - 1';

select pg_catalog.pg_extension_config_dump('@extschema@.throttled_resource', '');

create function @extschema@.throttle_create(
	resource text,
	throttle_interval interval,
	grants integer default 1
) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_create';

comment on function @extschema@.throttle_create(text, interval, integer) is
	'creates a throttled resource, which may be locked once or grants times in any interval of this length';

create function @extschema@.throttle_create(
	resource anyenum,
	throttle_interval interval,
	grants integer default 1
) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_create_enum';

comment on function @extschema@.throttle_create(anyenum, interval, integer) is
	'creates the throttled resource that is named by the label of an enum value';

create function @extschema@.throttle_alter(
	resource text,
	throttle_interval interval default null,
	grants integer default null
) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_alter';

comment on function @extschema@.throttle_alter(text, interval, integer) is
	'changes how often a throttled resource may be locked; null leaves a setting unchanged';

create function @extschema@.throttle_alter(
	resource anyenum,
	throttle_interval interval default null,
	grants integer default null
) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_alter_enum';

comment on function @extschema@.throttle_alter(anyenum, interval, integer) is
	'changes how often the throttled resource named by an enum value may be locked; null leaves a setting unchanged';

create function @extschema@.throttle_drop(resource text, if_exists boolean default false) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_drop';

comment on function @extschema@.throttle_drop(text, boolean) is
	'drops a throttled resource; false if it does not exist and if_exists is true';

create function @extschema@.throttle_drop(resource anyenum, if_exists boolean default false) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_drop_enum';

comment on function @extschema@.throttle_drop(anyenum, boolean) is
	'drops the throttled resource named by an enum value; false if it does not exist and if_exists is true';

create function @extschema@.lock_throttled_resource(resource text, details text) returns boolean
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_lock_throttled_resource';

comment on function @extschema@.lock_throttled_resource(text, text) is
	'locks a throttled resource if its limit allows it now; true takes effect if the transaction commits, false returns at once';

create function @extschema@.lock_throttled_resource(resource anyenum, details text) returns boolean
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_lock_throttled_resource_enum';

comment on function @extschema@.lock_throttled_resource(anyenum, text) is
	'locks the throttled resource named by an enum value if its limit allows it now; true takes effect if the transaction commits, false returns at once';

create function @extschema@.throttle_acquire(
	resource text,
	details text,
	out acquired boolean,
	out retry_at timestamptz
) returns record
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_acquire';

comment on function @extschema@.throttle_acquire(text, text) is
	'locks a throttled resource as lock_throttled_resource() does, and says when to try again if that was denied';

create function @extschema@.throttle_acquire(
	resource anyenum,
	details text,
	out acquired boolean,
	out retry_at timestamptz
) returns record
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_acquire_enum';

comment on function @extschema@.throttle_acquire(anyenum, text) is
	'locks the throttled resource named by an enum value, and says when to try again if that was denied';
