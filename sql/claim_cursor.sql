-- Reading on behind a row, by columns of each type that a ring's cursor can hold, and of
-- some that it cannot: the order is the table's.
set client_min_messages = error;
create schema test_cursor;
set search_path = test_cursor, public;
set queue_ext.claim_path = direct;

-- Makes a queue ordered by a column of that type, whose 700 values are value(i), and pops
-- all. Whether the order was kept. has_cursor: waits for a pop that has gone on behind
-- the cursor, instead of at the head (which is in order, too, and which the clock may
-- bring).
create function is_in_order(type text, value text, has_cursor boolean, is_descending boolean default false)
returns boolean language plpgsql as $$
declare
	is_right boolean;
	gone_on bigint;
begin
	execute format('create table t (k %s not null, i integer not null, state integer not null default 0, primary key (k, i))', type);
	execute format('insert into t select (%s)::%s, i from generate_series(1, 700) as i', value, type);
	perform queue_attach('t', 't', 'state = 0', case when is_descending then 'k desc, i desc' else 'k, i' end, 'state = 1');
	loop
		execute format($f$select array_agg((k, i)::text order by place)
			= (select array_agg((k, i)::text order by %s) from t)
			from queue_pop_rows(null::t, max_jobs => 1000) with ordinality as r (k, i, state, place)$f$,
			case when is_descending then 'k desc, i desc' else 'k, i' end)
		into is_right;
		select fills into gone_on from queue_claim_stats where source = 't'::regclass;
		exit when not is_right or gone_on > 0 or not has_cursor;
		update t set state = 0;
	end loop;
	drop table t;
	return is_right;
end $$;

select type, is_in_order(type, value, true) as up, is_in_order(type, value, true, true) as down
from (values
	('smallint', 'i - 350'),
	('integer', '(i - 350) * 1000000'),
	('bigint', '(i - 350) * 10000000000000'),
	('real', '(i - 350) / 7.0'),
	('double precision', 'case i when 1 then ''-infinity'' when 2 then ''NaN'' else (i / 7.0)::text end'),
	('boolean', 'i % 2 = 0'),
	('"char"', '(i % 128)::integer'),
	('oid', 'i'),
	('money', '(i - 350) / 3.0'),
	('date', 'date ''2000-01-01'' + i'),
	('time', 'time ''00:00'' + i * interval ''1 second'''),
	('timetz', 'timetz ''00:00+01'' + i * interval ''1 second'''),
	('timestamp', 'case i when 1 then ''infinity'' else timestamp ''2000-01-01'' + i * interval ''1 second'' end'),
	('timestamptz', 'timestamptz ''2000-01-01'' + i * interval ''1 second'''),
	('interval', 'i * interval ''1 hour'''),
	('uuid', 'md5(i::text)'),
	('macaddr', 'lpad(to_hex(i), 12, ''0'')'),
	('macaddr8', 'lpad(to_hex(i), 16, ''0'')'),
	('pg_lsn', '''0/'' || to_hex(i)'),
	('xid8', 'i::text'),
	('tid', 'format(''(%s,1)'', i)'),
	('name', '''n'' || i'),
	('text', 'case when i % 3 = 0 then '''' else ''é'' || i end'),
	('varchar(9)', '''v'' || i'),
	('character(5)', 'i::text'),
	('text', 'repeat(''x'', i / 4)'),
	('bytea', 'decode(lpad(to_hex(i), 8, ''0''), ''hex'')'),
	('numeric', 'case i when 1 then ''NaN'' when 2 then ''Infinity'' when 3 then ''-Infinity'' when 4 then 1e300::numeric(301, 0)::text else ((i - 350) * 1.37)::text end'),
	('bit(10)', 'i::bit(10)'),
	('bit varying', 'i::bit(13)'),
	('inet', 'case when i % 2 = 0 then ''10.0.0.0/8''::inet + i else ''fe80::/10''::inet + i end'),
	('cidr', 'case when i % 2 = 0 then cidr ''10.0.0.0/32'' + i else set_masklen(inet ''fe80::'' + i, 128)::cidr end')
) as c(type, value);

-- Without a cursor: types whose values cannot be checked, values that are too large.
create domain positive as integer check (value > 0);
create type size as enum ('small', 'large');
select type, is_in_order(type, value, false) as up, is_in_order(type, value, false, true) as down
from (values
	('integer[]', 'array[i]'),
	('jsonb', 'to_jsonb(i)'),
	('int4range', 'int4range(i, i + 1)'),
	('tsvector', '''w'' || i'),
	('positive', 'i'),
	('size', 'case when i % 2 = 0 then ''small'' else ''large'' end'),
	('text', 'repeat(md5(i::text), 9)')
) as c(type, value);
drop schema test_cursor cascade;
