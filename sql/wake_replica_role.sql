-- What a subscription's worker, or a session in the role of one, writes is claimable
-- as well: an idle queue does not stay so.
set client_min_messages = error;
create schema test_wake_replica_role;
set search_path = test_wake_replica_role, public;
set queue_ext.claim_path = direct;
select queue_create('jobs', lease => '1 hour');
create table t (id integer primary key, state integer not null default 0);
create index on t (id) where state = 0;
select queue_attach('t', 't', 'state = 0', 'id', 'state = 1', on_release => 'state = 0', wake => true);
select count(*) from queue_pop('jobs') union all select count(*) from queue_pop_rows(null::t);
select count(*) from queue_pop('jobs') union all select count(*) from queue_pop_rows(null::t);
set session_replication_role = replica;
insert into jobs (payload) values ('1');
insert into t values (1);
reset session_replication_role;
select id, attempt from queue_pop('jobs');
select id, state from queue_pop_rows(null::t);
select count(*) from queue_pop('jobs') union all select count(*) from queue_pop_rows(null::t);
select count(*) from queue_pop('jobs') union all select count(*) from queue_pop_rows(null::t);
set session_replication_role = replica;
select queue_release('jobs', 1, 1), queue_release_row('t', '(1,1)'::t);
select id, attempt from queue_pop('jobs');
select id, state from queue_pop_rows(null::t);
reset session_replication_role;

drop schema test_wake_replica_role cascade;
