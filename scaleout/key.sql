-- The bucket of a key, the same on the proxy and on the shards, which list by it the keys that have
-- another shard under a new map. Must never change: the keys of a queue would be elsewhere.

-- Not the bits, nor the hash, of the locks that a shard makes of the same key.
create or replace function @own@.bucket_of(_key text) returns integer
language sql immutable strict parallel safe
as $$
	select ((@extschema@.fnv1a_64(_key) operator(pg_catalog.>>) 37)
		operator(pg_catalog.#) (@extschema@.fnv1a_64(_key) operator(pg_catalog.>>) 17))::bit(10)::integer
$$;

-- The key of a unique insert: the values that are compared, in one order and one spelling.
-- Payloads that are equal differ in the zeros at the end of numbers, if in anything. Zeros within
-- strings go, too: two keys with one bucket do no harm. Where nothing is compared, all are equal.
create or replace function @own@.unique_key(_payload jsonb, _unique_by text[]) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
	select coalesce(regexp_replace(regexp_replace(
		case
			when _unique_by = '{}' then null
			when _unique_by is null or jsonb_typeof(_payload) <> 'object' then _payload
			else (select jsonb_object_agg(name, value)
				from jsonb_each(_payload) as of_payload(name, value)
				where name = any (_unique_by))
		end::text,
		'(\.\d*?)0+(?!\d)', '\1', 'g'), '\.(?!\d)', '', 'g'), '')
$$;
