-- The registry in dumps: what pg_dump would keep of it.
\set QUIET 1
\pset format unaligned
\pset tuples_only true
\pset pager off
\set ON_ERROR_STOP 1
begin;
select plan(5);

select lives_ok($$select queue_create('kept', archive => true), queue_create('gone')$$, 'two queues');
select lives_ok('drop table gone', 'the table of one is dropped');
select results_eq('select queue collate "default", archive::text from queues', $$values ('public.kept', 'kept_archive')$$,
	'the view shows the other');
select format('select name collate "default" from queue_definition %s', extcondition[1]) as dumped
from pg_extension where extname = 'queue_ext' \gset
select results_eq(:'dumped', $$values ('kept')$$, 'so does a dump');
select lives_ok($$select queue_create('gone')$$, 'and the name is free');

select * from finish();
rollback;
