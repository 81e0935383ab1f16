-- What an error tells of a row is what the caller may see, on both paths: a sender that may
-- not read the table is told of its own values, and not of those that the table adds, nor of
-- other rows'.
set client_min_messages = error;
create schema test_privilege_detail;
create role regress_detail;
grant usage on schema test_privilege_detail to regress_detail;
set search_path = test_privilege_detail, public;
create function detail_of(command text) returns text language plpgsql as $$
declare
	detail text;
begin
	execute command;
	raise sqlstate 'UNDO0';
exception when others then
	get stacked diagnostics detail = pg_exception_detail;
	-- No ids, no times.
	return concat(sqlstate, ' ', regexp_replace(regexp_replace(detail, '\(\d+, (\w\w\w \w|\d\d\d\d-)', '(id, \1'), '\d\d\d\d-\d\d-\d\d \d\d:\d\d:\d\d[^,)]*|\w\w\w \w\w\w \d\d \d\d:\d\d:\d\d[^,)]*', 'time', 'g'));
end $$;
select queue_create('jobs', lease => '1 hour');
alter table jobs add secret text not null default 'secret' check (secret <> payload->>'not');
alter table jobs add constraint no_zero check (payload <> '0');
create unique index on jobs ((payload->>'of'), secret);
create unique index on jobs (priority) where payload = '"first"';
do $$ begin perform queue_send('jobs', '{"of": "another"}'); perform queue_send('jobs', '"first"', 7); end $$;

create procedure details(inout direct text[], inout portable text[]) language plpgsql as $$
declare
	calls text[] := array[
		$c$select queue_send('jobs', '0')$c$,
		$c$select queue_send_many('jobs', '{1,0}')$c$,
		$c$select queue_send('jobs', '{"not": "secret"}')$c$,
		$c$select queue_send('jobs', '{"of": "another"}')$c$,
		$c$select queue_send_many('jobs', array['{"of": "another"}']::jsonb[])$c$,
		$c$select queue_send('jobs', '"first"', 7)$c$,
		$c$select queue_unique_insert('jobs', '0')$c$,
		$c$select id from queue_pop('jobs', 10)$c$,
		$c$select queue_complete('jobs', 1, 1)$c$
	];
begin
	set local queue_ext.claim_path = direct;
	direct := array(select detail_of(call) from unnest(calls) as call);
	set local queue_ext.claim_path = portable;
	portable := array(select detail_of(call) from unnest(calls) as call);
end $$;

create function compared() returns table (call bigint, direct text, portable_differs text) language plpgsql as $$
declare
	direct text[];
	portable text[];
begin
	call details(direct, portable);
	return query select n, d, nullif(portable[n], d) from unnest(direct) with ordinality as u (d, n);
end $$;
-- Who may read all is told all.
select * from compared();
grant insert on jobs to regress_detail;
grant select (id) on jobs to regress_detail;
set role regress_detail;
select * from compared();
reset role;
-- Rights on columns alone.
revoke all on jobs from regress_detail;
grant insert (payload, priority, run_at, max_attempts, unique_key), select (id, run_at, leased_until, dead_at, unique_key, payload) on jobs to regress_detail;
set role regress_detail;
select * from compared();
reset role;
drop schema test_privilege_detail cascade;
drop role regress_detail;
