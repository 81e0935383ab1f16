-- FNV hashes and lock keys. The expected values were computed apart from this code.

-- The published vectors, as the unsigned results read as signed.
select key,
       fnv1_32(key),
       fnv1a_32(key),
       fnv1_64(key),
       fnv1a_64(key)
from unnest(array['', 'a', 'ab', 'abc', 'foobar', 'chongo was here!',
                  'some content for hashing purposes']) with ordinality as input(key, n)
order by n;

select key,
       fnv1_32(key),
       fnv1a_32(key),
       fnv1_64(key),
       fnv1a_64(key)
from unnest(array['', '\x00', '\x61', '\x616263', '\x61006200', '\xff000001',
                  '\xfedcba9876543210']::bytea[]) with ordinality as input(key, n)
order by n;

-- The same bytes hash alike, as text and as bytea.
select bool_and(fnv1_32(key) = fnv1_32(key::bytea)
                and fnv1a_32(key) = fnv1a_32(key::bytea)
                and fnv1_64(key) = fnv1_64(key::bytea)
                and fnv1a_64(key) = fnv1a_64(key::bytea)) as alike
from (select 'key ' || n as key from generate_series(1, 1000) as n) as input;

-- Long keys: inline, compressed and out of line.
create temporary table long_key (name text, key text);
alter table long_key alter key set storage external;
insert into long_key values ('out of line', repeat('queue_ext ', 1000));
alter table long_key alter key set storage extended;
insert into long_key values
	('a kilobyte', repeat('x', 1024)),
	('compressed', repeat('queue_ext ', 1000));
select name,
       length(key),
       fnv1_32(key),
       fnv1a_32(key),
       fnv1_64(key),
       fnv1a_64(key),
       fnv_lock_key(key, 7)
from long_key
order by name;
drop table long_key;

-- NULL in, NULL out.
select fnv1_32(null::text) is null
       and fnv1_32(null::bytea) is null
       and fnv1a_32(null::text) is null
       and fnv1a_32(null::bytea) is null
       and fnv1_64(null::text) is null
       and fnv1_64(null::bytea) is null
       and fnv1a_64(null::text) is null
       and fnv1a_64(null::bytea) is null
       and fnv_lock_key(null) is null
       and fnv_lock_key(null, 1) is null
       and fnv_lock_key('a', null) is null as all_null;

-- A lock key: without a prefix the whole 64-bit hash ...
select key, fnv_lock_key(key), fnv_lock_key(key, 0), fnv_lock_key(key) = fnv1_64(key) as equal
from unnest(array['', 'a', 'some content for hashing purposes']) with ordinality as input(key, n)
order by n;

-- ... with one the prefix above the 32-bit hash.
select prefix,
       fnv_lock_key('some content for hashing purposes', prefix) as lock_key,
       to_hex(fnv_lock_key('some content for hashing purposes', prefix)) as hex
from unnest(array[1, 2, 2147483647, -1, -2, -2147483648]) with ordinality as input(prefix, n)
order by n;

select prefix,
       count(*) as keys,
       bool_and(fnv_lock_key(key, prefix) >> 32 = prefix) as upper_half_is_the_prefix,
       bool_and(fnv_lock_key(key, prefix)::bit(64)::bit(32)::integer = prefix) as also_as_bits,
       bool_and(fnv_lock_key(key, prefix) & 4294967295 = fnv1_32(key)::bigint & 4294967295)
           as lower_half_is_the_hash
from unnest(array[1, 1000, 2147483647, -1, -1000, -2147483648]) with ordinality as input(prefix, n),
     (select 'key ' || i as key from generate_series(1, 1000) as i) as keys
group by prefix, n
order by n;

-- An untyped literal is text, and arguments may be named.
select fnv1_64('abc') as positional, fnv1_64(key => 'abc') as named,
       fnv_lock_key(prefix => 1, key => 'abc') as named_lock_key;

-- So is an untyped parameter, as drivers send it.
prepare untyped as
select fnv1_32($1), fnv1a_32($1), fnv1_64($1), fnv1a_64($1), fnv_lock_key($1, $2);
execute untyped('abc', 1);
deallocate untyped;

-- Immutable, so a lock key may be indexed, and it takes an advisory lock.
create temporary table immutable_key (key text);
create index on immutable_key (fnv_lock_key(key), fnv1a_64(key));
drop table immutable_key;
select pg_try_advisory_lock(fnv_lock_key('abc', 1)), pg_advisory_unlock(fnv_lock_key('abc', 1));
