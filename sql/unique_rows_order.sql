-- Of equal rows, or payloads, in one call the first is inserted, and the others come back as
-- that, however many there are.
set client_min_messages = error;
create schema test_rows_order;
set search_path = test_rows_order, public;
create table t (id integer primary key, name text, note text);
create index on t (name);
create view outcome as
select count(*) as rows, count(*) filter (where r.inserted) as inserted,
	count(*) filter (where r.inserted is distinct from (r.n <= 7)) as not_the_first,
	count(*) filter (where (r.job).note is distinct from 'note ' || 1 + (r.n - 1) % 7) as not_that_row
from queue_unique_insert_rows((select array_agg((i, 'name ' || i % 7, 'note ' || i)::t order by i) from generate_series(1, 500) as i), '{name}')
	with ordinality as r (inserted, job, n);
select * from outcome;
select count(*) as rows, count(distinct name) as names from t;
-- They are there now.
select count(*) as rows, count(*) filter (where inserted) as inserted
from queue_unique_insert_rows((select array_agg((1000 + i, 'name ' || i % 7, 'again')::t) from generate_series(1, 100) as i), '{name}');
select queue_create('jobs');
select count(*) as payloads, count(*) filter (where inserted is distinct from (ordinality <= 7)) as not_the_first,
	count(*) filter (where id is distinct from 1 + (ordinality - 1) % 7) as not_that_job
from queue_unique_insert_many('jobs', (select array_agg(to_jsonb(i % 7) order by i) from generate_series(1, 500) as i)) with ordinality;
select queue_drop('jobs');
drop schema test_rows_order cascade;
