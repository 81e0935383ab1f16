\echo Use "ALTER EXTENSION queue_ext UPDATE TO '0.2'" to load this file. \quit

create index queue_definition_source_idx on @extschema@.queue_definition (source);

create function @extschema@.queue_adopt(queue text) returns regclass
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_adopt';

comment on function @extschema@.queue_adopt(text) is
	'makes a table that was a queue one again, after a dump of the table alone or DROP EXTENSION';

-- Keys of bytes.

create function @extschema@.fnv_lock_key(key bytea, prefix integer default 0) returns bigint
as 'MODULE_PATHNAME', 'queue_ext_fnv_lock_key_bytea'
language c immutable strict parallel safe;

comment on function @extschema@.fnv_lock_key(bytea, integer) is
	'Key for an advisory lock: the 64-bit FNV-1 of the bytes, or with a prefix other than 0 the prefix in the upper 32 bits and the 32-bit FNV-1 in the lower';

-- Throttles named by enums.

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
	resource anyenum,
	throttle_interval interval default null,
	grants integer default null
) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_alter_enum';

comment on function @extschema@.throttle_alter(anyenum, interval, integer) is
	'changes how often the resource that an enum names may be locked; what is null stays as it is';

create function @extschema@.throttle_drop(resource anyenum, if_exists boolean default false) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_drop_enum';

comment on function @extschema@.throttle_drop(anyenum, boolean) is
	'drops the throttled resource that an enum names; false if there is none and that is no error';

create function @extschema@.lock_throttled_resource(resource anyenum, details text) returns boolean
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_lock_throttled_resource_enum';

comment on function @extschema@.lock_throttled_resource(anyenum, text) is
	'true for whoever may use the resource that an enum names now, if its transaction commits; false at once for others';
