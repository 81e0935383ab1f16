-- Keys: FNV hashes of text and bytea, and the key of an advisory lock. The unsigned hash is
-- returned as a signed integer of the same bits. Text is hashed as its UTF-8 bytes; in a database
-- of encoding SQL_ASCII the bytes are hashed as they are.

create function @extschema@.fnv1_32(key text) returns integer
as 'MODULE_PATHNAME', 'queue_ext_fnv1_32_text'
language c immutable strict parallel safe;

create function @extschema@.fnv1_32(key bytea) returns integer
as 'MODULE_PATHNAME', 'queue_ext_fnv1_32_bytea'
language c immutable strict parallel safe;

comment on function @extschema@.fnv1_32(text) is
	'32-bit FNV-1 hash of the UTF-8 bytes of the text, read as a signed integer';
comment on function @extschema@.fnv1_32(bytea) is
	'32-bit FNV-1 hash of the bytes, read as a signed integer';

create function @extschema@.fnv1_64(key text) returns bigint
as 'MODULE_PATHNAME', 'queue_ext_fnv1_64_text'
language c immutable strict parallel safe;

create function @extschema@.fnv1_64(key bytea) returns bigint
as 'MODULE_PATHNAME', 'queue_ext_fnv1_64_bytea'
language c immutable strict parallel safe;

comment on function @extschema@.fnv1_64(text) is
	'64-bit FNV-1 hash of the UTF-8 bytes of the text, read as a signed bigint';
comment on function @extschema@.fnv1_64(bytea) is
	'64-bit FNV-1 hash of the bytes, read as a signed bigint';

create function @extschema@.fnv1a_32(key text) returns integer
as 'MODULE_PATHNAME', 'queue_ext_fnv1a_32_text'
language c immutable strict parallel safe;

create function @extschema@.fnv1a_32(key bytea) returns integer
as 'MODULE_PATHNAME', 'queue_ext_fnv1a_32_bytea'
language c immutable strict parallel safe;

comment on function @extschema@.fnv1a_32(text) is
	'32-bit FNV-1a hash of the UTF-8 bytes of the text, read as a signed integer';
comment on function @extschema@.fnv1a_32(bytea) is
	'32-bit FNV-1a hash of the bytes, read as a signed integer';

create function @extschema@.fnv1a_64(key text) returns bigint
as 'MODULE_PATHNAME', 'queue_ext_fnv1a_64_text'
language c immutable strict parallel safe;

create function @extschema@.fnv1a_64(key bytea) returns bigint
as 'MODULE_PATHNAME', 'queue_ext_fnv1a_64_bytea'
language c immutable strict parallel safe;

comment on function @extschema@.fnv1a_64(text) is
	'64-bit FNV-1a hash of the UTF-8 bytes of the text, read as a signed bigint';
comment on function @extschema@.fnv1a_64(bytea) is
	'64-bit FNV-1a hash of the bytes, read as a signed bigint';

create function @extschema@.fnv_lock_key(key text, prefix integer default 0) returns bigint
as 'MODULE_PATHNAME', 'queue_ext_fnv_lock_key'
language c immutable strict parallel safe;

comment on function @extschema@.fnv_lock_key(text, integer) is
	'Key for an advisory lock: the 64-bit FNV-1 of the text, or with a prefix other than 0 the prefix in the upper 32 bits and the 32-bit FNV-1 in the lower';

create function @extschema@.fnv_lock_key(key bytea, prefix integer default 0) returns bigint
as 'MODULE_PATHNAME', 'queue_ext_fnv_lock_key_bytea'
language c immutable strict parallel safe;

comment on function @extschema@.fnv_lock_key(bytea, integer) is
	'Key for an advisory lock: the 64-bit FNV-1 of the bytes, or with a prefix other than 0 the prefix in the upper 32 bits and the 32-bit FNV-1 in the lower';
