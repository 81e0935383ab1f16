-- An occurrence whose unique_key is compressed is one, too: its claim sends the next.
\set VERBOSITY terse
set client_min_messages = warning;
create schema test_compressed;
set search_path = test_compressed, public;
select queue_create('jobs');
alter table jobs set (toast_tuple_target = 128);
select queue_schedule('jobs', repeat('a', 200), '1 hour', starts_at => now() + '1 hour',
	payload => (select jsonb_agg(md5(n::text)) from generate_series(1, 200) n)) > now() as later;
select pg_column_size(unique_key) < 100 as compressed from jobs;
update jobs set run_at = now();
select attempt from queue_pop('jobs');
select attempt from jobs order by 1;
-- On the statement's path.
set queue_ext.claim_path = portable;
update jobs set run_at = now() where attempt = 0;
select attempt from queue_pop('jobs');
select attempt from jobs order by 1;
drop schema test_compressed cascade;
