-- One round of bench/fnv.sh: prints "function|nanoseconds a call" for keys of 1 kB.
-- What a scan and an aggregate cost without a hash is measured too, and taken off.
\set ON_ERROR_STOP on
\pset format unaligned
\pset tuples_only on
\set QUIET on
set max_parallel_workers_per_gather = 0;
set jit = off;

-- Short of the 2 kB at which a row is compressed.
create temporary table input as
select rpad(n::text || ' ', 1024, 'some content for hashing purposes ') as key
from generate_series(1, 4000) as n;
analyze input;

create function pg_temp.nanoseconds(expression text) returns numeric
language plpgsql as $$
declare
	calls constant integer := 5 * 4000;
	started timestamptz;
begin
	execute format('select bit_xor(%s) from input', expression); -- warms up
	started := clock_timestamp();
	execute format('select bit_xor(%s) from input, generate_series(1, 5)', expression);
	return extract(epoch from clock_timestamp() - started) * 1e9 / calls;
end
$$;

with scan as materialized (
	select pg_temp.nanoseconds('octet_length(key)') as cost
), measured as materialized (
	select name, pg_temp.nanoseconds(expression) as cost
	from (values ('fnv1_64', 'fnv1_64(key)'),
	             ('fnv1a_64', 'fnv1a_64(key)'),
	             ('fnv1_32', 'fnv1_32(key)'),
	             ('fnv_lock_key', 'fnv_lock_key(key, 7)'),
	             ('hashtextextended', 'hashtextextended(key, 0)'),
	             ('hashtext', 'hashtext(key)')) as functions(name, expression)
)
select name, round(measured.cost - scan.cost, 1)
from measured, scan;
