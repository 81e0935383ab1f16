-- A candidate is a place in the table. Once its row is gone and VACUUM has been there,
-- the place may be given to another row, whose turn has not come.
set client_min_messages = error;
create schema test_reused_place;
set search_path = test_reused_place, public;
set queue_ext.claim_path = direct;

-- The new job has a later id, run_at or priority than those listed.
select queue_create('jobs', lease => '1 hour');
select queue_send_many('jobs', '{1,2,3}', run_at => '2020-01-01');
select id from queue_pop('jobs'); -- the ring has the places of all three
delete from jobs where id = 2;
vacuum jobs;
select queue_send('jobs', '4', run_at => '2020-01-01') as sent;
select id from queue_pop('jobs', 10);
select queue_send_many('jobs', '{5,6,7}', run_at => '2020-01-01');
select id from queue_pop('jobs');
delete from jobs where id = 6;
vacuum jobs;
select queue_send('jobs', '8', run_at => '2020-01-02') as sent;
select id from queue_pop('jobs', 10);
select queue_send_many('jobs', '{9,10,11}', run_at => '2020-01-01');
select id from queue_pop('jobs');
delete from jobs where id = 10;
vacuum jobs;
select queue_send('jobs', '12', run_at => '2020-01-01', priority => 1) as sent;
select id from queue_pop('jobs', 10);

-- An attached queue's ring does not know the rows' order, and tells their versions apart.
create table places (id integer primary key, state text not null default 'new');
select queue_attach('updated', 'places', 'state = ''new''', 'id', 'state = ''taken'''),
       queue_attach('locked', 'places', 'state = ''new''', 'id', claim_mode => 'transaction'),
       queue_attach('held', 'places', 'state = ''new''', 'id', claim_mode => 'session');

insert into places select generate_series(1, 3);
select id from queue_pop_rows(null::places, 'updated');
delete from places where id = 2;
vacuum places;
insert into places values (4);
select id from queue_pop_rows(null::places, 'updated');
select id from queue_pop_rows(null::places, 'updated', 10);

truncate places;
insert into places select generate_series(1, 3);
select id from queue_pop_rows(null::places, 'held');
delete from places where id = 2;
vacuum places;
insert into places values (4);
select id from queue_pop_rows(null::places, 'held');
select id from queue_pop_rows(null::places, 'held', 10);
select pg_advisory_unlock_all();

truncate places;
insert into places select generate_series(1, 3);
begin;
select id from queue_pop_rows(null::places, 'locked');
select queue_complete_row('locked', '(1,new)'::places);
commit;
vacuum places;
insert into places values (4);
select id from queue_pop_rows(null::places, 'locked', 2);

-- A managed queue whose key has been dropped has no ranks: what is sent later comes first
-- by its priority all the same.
select queue_create('keyless', lease => '1 hour');
alter table keyless drop constraint keyless_pkey;
select queue_send_many('keyless', '{1,2,3}', priority => 5);
select id from queue_pop('keyless');
select queue_send('keyless', '4') as sent;
select id from queue_pop('keyless');
select id from queue_pop('keyless', 10);
select claims from queue_claim_stats where source = 'keyless'::regclass;

-- Nor are jobs of one id told apart by their ranks, of which more come than one fill takes; also if the id
-- is a part of the key.
truncate keyless;
insert into keyless (id, payload, run_at, attempt, max_attempts) overriding system value
select 1 + n / 400, '0', '2020-01-01', 2 * n, 2000 from generate_series(1, 799) as n;
select j.id, count(*) from queue_pop('keyless', 500) as j group by 1 order by 1;
truncate keyless;
alter table keyless add primary key (attempt, id);
insert into keyless (id, payload, run_at, attempt, max_attempts) overriding system value
select 1 + n / 400, '0', '2020-01-01', 2 * n, 2000 from generate_series(1, 799) as n;
select j.id, count(*) from queue_pop('keyless', 500) as j group by 1 order by 1;

drop schema test_reused_place cascade;
