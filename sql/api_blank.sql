-- A text is blank that is empty or has nothing but spaces. A tab is a character like any other.
set client_min_messages = warning;
begin;
create schema test_blank;
create function test_blank.error_of(command text) returns text language plpgsql as $$
begin
	execute command;
	return 'none';
exception when others then
	return sqlstate;
end $$;
select queue_create('test_blank.q');
select call, string_agg(test_blank.error_of(format('select ' || call, given)), ' ' order by n) as errors
from unnest(array[
	'mutex_acquire(%L)',
	'timeout_acquire(%L, ''1 hour'')',
	'throttle_create(%L, ''1 hour'')',
	'lock_throttled_resource(''  a'', %L)',
	'throttle_acquire(''  a'', %L)',
	'queue_schedule(''test_blank.q'', %L, every => ''1 hour'')'
]) with ordinality as c(call, place),
	unnest(array['', ' ', '   ', E'\t', E' \n', E'\r\n', '  a']) with ordinality as g(given, n)
group by place, call order by place;
rollback;
