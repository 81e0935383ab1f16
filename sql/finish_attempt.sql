-- A receipt has two parts: who leaves out the attempt is told so, and nothing is done.
set client_min_messages = warning;
create schema test_finish_attempt;
set search_path = test_finish_attempt, public;
select queue_create('jobs');
select queue_send_many('jobs', '{1,2}');
select id, attempt from queue_pop('jobs', 2);
create function error_of(command text) returns text language plpgsql as $$
declare
	hint text;
begin
	execute command;
	return 'no error';
exception when others then
	get stacked diagnostics hint = pg_exception_hint;
	return concat_ws(' | ', sqlstate, sqlerrm, nullif(hint, ''));
end $$;
select call, error_of('select ' || call) from unnest(array[
	$$queue_complete('jobs', 1)$$,
	$$queue_complete('jobs', 1, null)$$,
	$$queue_complete(queue => 'jobs', id => 1)$$,
	$$queue_complete_many('jobs', '{1,2}')$$,
	$$queue_complete_many('jobs', '{1,2}', '{1,null}')$$,
	$$queue_fail('jobs', 1)$$,
	$$queue_fail('jobs', 1, error => 'no attempt')$$,
	$$queue_fail('jobs', 1, retry_in => '1 hour')$$,
	$$queue_fail_many('jobs', '{1,2}')$$,
	$$queue_fail_many('jobs', '{1,2}', errors => '{a,b}')$$,
	$$queue_release('jobs', 1)$$,
	$$queue_release('jobs', 1, run_at => now())$$,
	$$queue_release_many('jobs', '{1,2}')$$,
	$$queue_extend('jobs', 1)$$,
	$$queue_extend('jobs', 1, lease => '1 hour')$$,
	$$queue_extend_many('jobs', '{1,2}')$$,
	-- Arguments are checked before the queue is looked up.
	$$queue_complete('jobs', null)$$,
	$$queue_complete('emials', 1)$$
]) with ordinality as c(call, n)
order by n;
select count(*) as still_held from jobs where leased_until is not null and attempt = 1;
-- To cancel or requeue a job needs none.
select queue_cancel('jobs', 1);
drop schema test_finish_attempt cascade;
