-- A ring made for a managed queue, whose cursor is a rank, and the queue attached again
-- under the same name with the same fragments, whose cursor is a row of the table: the
-- one was read as the other.
set client_min_messages = error;
create schema test_ring_shape;
set search_path = test_ring_shape, public;
set queue_ext.claim_path = direct;
select queue_create('jobs', lease => '1 hour');
select count(*) from queue_send_many('jobs', array_fill('1'::jsonb, array[2000]));
create temporary table fragments as select * from queues where queue = 'test_ring_shape.jobs';
create function is_next(ids bigint[], first bigint) returns boolean language sql immutable
return ids = array(select generate_series(first, first + 199));
select is_next(array_agg(id), 1) from queue_pop('jobs', 200);
select queue_detach('jobs');
select queue_attach('jobs', 'jobs', pending, order_by, on_claim, on_complete, on_release, on_fail,
	on_extend => on_extend, lease => '1 hour', wake => true)
from fragments;
select is_next(array_agg(id), 201) from queue_pop_rows(null::jobs, max_jobs => 200);
select is_next(array_agg(id), 401) from queue_pop_rows(null::jobs, max_jobs => 200);
-- It is one ring, made anew.
select claims from queue_claim_stats where source = 'jobs'::regclass;
drop schema test_ring_shape cascade;
