-- The key of an advisory lock, of bytes.

-- Computed elsewhere: without a prefix the 64-bit FNV-1, with one the prefix above the
-- 32-bit FNV-1.
select key,
       fnv_lock_key(key) = without and fnv_lock_key(key, 0) = without as without_prefix,
       fnv_lock_key(key, 7) = seven as with_7,
       fnv_lock_key(key, -1) = minus_one as with_minus_1
from (values
	(''::bytea, -3750763034362895579, 32230907333, -2128831035),
	('\x00', -5808590958014384161, 30149467423, -4210270945),
	('\xff', -5808590958014384352, 30149467616, -4210270752),
	('\x006100', -2788659350798955804, 30764221380, -3595516988),
	('\xe4', -5808590958014384325, 30149467643, -4210270725),
	('\x666f6f626172', 3750802935296928194, 30902628962, -3457109406)
) as vector(key, without, seven, minus_one);
select fnv_lock_key(bytes) = 2426871667056796965 as plain, fnv_lock_key(bytes, 7) = 32456081861 as with_7
from (select decode(string_agg(lpad(to_hex(n), 2, '0'), '' order by n), 'hex') as bytes from generate_series(0, 255) as n) as all_bytes;

-- The same as of the text with these bytes.
select fnv_lock_key('some content for hashing purposes'::bytea) = fnv_lock_key('some content for hashing purposes'::text) as plain,
       fnv_lock_key('some content for hashing purposes'::bytea, 7) = fnv_lock_key('some content for hashing purposes'::text, 7) as with_7;

-- An untyped literal and an untyped parameter are text, also one that looks like bytes.
select fnv_lock_key('\xff') = fnv_lock_key('\xff'::text) as is_text,
       fnv_lock_key('\xff') = fnv_lock_key('\xff'::bytea) as is_bytes,
       fnv_lock_key('\xff', 7) = fnv_lock_key('\xff'::text, 7) as is_text_with_7,
       fnv_lock_key(prefix => 7, key => '\xff'::bytea) = 30149467616 as named;
prepare untyped as
select fnv_lock_key($1) = fnv_lock_key('\xff'::text) and fnv_lock_key($2, $3) = fnv_lock_key('\xff'::text, 7) as is_text;
execute untyped('\xff', '\xff', 7);
deallocate untyped;
-- The same in the protocol that drivers use, where psql knows it (from 16 on).
select :VERSION_NUM >= 160000 as has_bind \gset
\set call 'select true as is_text \\gset'
\if :has_bind
\set call 'select fnv_lock_key($1, $2) = fnv_lock_key(''\\xff''::text, 7) as is_text \\bind ''\\\\xff'' 7 \\gset'
\endif
:call
select :'is_text'::boolean as is_text;

select fnv_lock_key(null::bytea) is null and fnv_lock_key(null::bytea, 1) is null
       and fnv_lock_key('\x00'::bytea, null) is null as all_null;

-- Out of line and compressed.
create temporary table long_key (name text, key bytea);
alter table long_key alter key set storage external;
insert into long_key values ('out of line', convert_to(repeat('queue_ext ', 1000), 'UTF8'));
alter table long_key alter key set storage extended;
insert into long_key values ('compressed', convert_to(repeat('queue_ext ', 1000), 'UTF8'));
create index on long_key (fnv_lock_key(key));
select name, fnv_lock_key(key) = fnv1_64(key) as plain,
       fnv_lock_key(key, 7) = fnv_lock_key(convert_from(key, 'UTF8'), 7) as with_7
from long_key order by name;
