-- queue_pop_any: jobs of several queues by one call.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create schema test_pop_any;
set search_path = test_pop_any, public;
do $$
begin
	perform queue_create(name, lease => '1 hour') from unnest(array['first', 'second', 'third']) as name;
	perform queue_send_many('first', '{1,2}');
	perform queue_send_many('second', '{3,4}');
	perform queue_send_many('third', '{5,6,7,8}');
end $$;

-- Strictly in the order of the array, and each in its own order.
select queue, id, attempt, payload, priority, max_attempts, leased_until > now() as leased, leased_by, kind
from queue_pop_any('{first,second,third}', 3, worker => 'me');
select queue, payload from queue_pop_any('{first,third,second}');
-- All that there is, and nothing. The name is as it was given.
select queue, payload from queue_pop_any('{test_pop_any.first,second,"test_pop_any.\"third\""}', 100);
select queue, payload from queue_pop_any('{first,second,third}', 100);
-- What was claimed is claimed as by queue_pop.
select count(*) filter (where leased_until > now() and attempt = 1), count(*) from (select * from first union all select * from second union all select * from third) as j;
select queue_complete('first', 1, 1), queue_complete('third', 1, 1);
-- One that is better comes first again; a queue that is named twice is asked twice.
select queue_send('first', '9'), queue_send('third', '10');
select queue, payload from queue_pop_any('{first,first,third,first}', 2);
-- A lease and the worker for all; without a lease that of each queue.
select queue_alter('second', lease => '1 day');
select count(queue_send(q, '0')) from unnest(array['first', 'second']) as q;
begin;
select queue, date_trunc('hour', leased_until - now() + '1 minute') as lease from queue_pop_any('{first,second}', 2);
rollback;
select queue, date_trunc('hour', leased_until - now() + '1 minute') as lease from queue_pop_any('{first,second}', 2, lease => '2 hours');

-- A paused queue is passed over.
select count(queue_send(q, '0')) from unnest(array['first', 'second']) as q;
select queue_pause('first');
select queue from queue_pop_any('{first,second}', 2);
select queue_resume('first');

-- By weights: each order is drawn. The chance that a right one is outside of these bounds is one in 10^10.
do $$
declare
	firsts integer := 0;
	name text;
begin
	perform queue_send_many('first', array_fill('0'::jsonb, array[400]));
	perform queue_send_many('second', array_fill('0'::jsonb, array[400]));
	for i in 1 .. 400 loop
		select queue into name from queue_pop_any('{second,first}', weights => '{1,3}');
		firsts := firsts + (name = 'first')::integer;
	end loop;
	raise warning 'three of four: %', firsts between 242 and 358;
end $$;
-- A call goes on to the other one.
select queue, count(*) > 1 as many from queue_pop_any('{first,second}', 1000, weights => '{1,1000000}') group by 1 order by 1;
select queue from queue_pop_any('{first,second}', weights => '{1,1}');
select queue_send('second', '0');
select queue from queue_pop_any('{first,second}', weights => '{1000000,1}');

-- By kinds, where all have them.
select queue_alter(q, kinds => true) from unnest(array['first', 'second']) as q;
select queue_send('first', '1', kind => 'mail'), queue_send('second', '2', kind => 'sms'), queue_send('second', '3', kind => 'mail');
select queue, payload, kind from queue_pop_any('{first,second}', 10, kinds => '{mail}');
select queue, payload, kind from queue_pop_any('{first,second}', 10);

-- Wrong calls say what is wrong, and claim nothing, wherever in the list that is.
select queue_send('first', '"left"');
create table items (id bigint primary key, state integer not null);
select queue_attach('items', 'items', 'state = 0', on_claim => 'state = 1');
create function error_of(command text) returns text language plpgsql as $$
declare
	detail text;
	hint text;
begin
	execute command;
	return 'none';
exception when others then
	get stacked diagnostics detail = pg_exception_detail, hint = pg_exception_hint;
	return concat_ws(' | ', sqlstate, sqlerrm, nullif(detail, ''), nullif(hint, ''));
end $$;
select error_of($$select queue_pop_any(null)$$);
select error_of($$select queue_pop_any('{}')$$);
select error_of($$select queue_pop_any('{{first},{second}}')$$);
select error_of($$select queue_pop_any('{first,null}')$$);
select error_of($$select queue_pop_any(array_fill('first'::text, array[65]))$$);
select error_of($$select queue_pop_any('{first,fourth}')$$);
select error_of($$select queue_pop_any('{first,items}')$$);
select error_of($$select queue_pop_any('{first,third}', kinds => '{mail}')$$);
select error_of($$select queue_pop_any('{first}', null)$$);
select error_of($$select queue_pop_any('{first}', 0)$$);
select error_of($$select queue_pop_any('{first}', lease => '0')$$);
select error_of($$select queue_pop_any('{first}', lease => '294000 years')$$);
select error_of($$select queue_pop_any('{first,second}', weights => '{1}')$$);
select error_of($$select queue_pop_any('{first,second}', weights => '{1,null}')$$);
select error_of($$select queue_pop_any('{first,second}', weights => '{1,0}')$$);
select error_of($$select queue_pop_any('{first,second}', weights => '{1000001,1}')$$);
select error_of($$select queue_pop_any('{first,second}', weights => '{{1,2}}')$$);
select queue, payload from queue_pop_any(array_fill('first'::text, array[64]));
-- A right that is missing on the last one, too.
create role regress_pop_any;
grant usage on schema test_pop_any to regress_pop_any;
grant select, update on first to regress_pop_any;
grant select on second to regress_pop_any;
select queue_send('first', '"left"');
set role regress_pop_any;
select error_of($$select queue_pop_any('{first,second}')$$);
select queue, payload from queue_pop_any('{first}');
reset role;

drop schema test_pop_any cascade;
drop role regress_pop_any;
