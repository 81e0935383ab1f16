-- Columns of one's own in a managed queue's table have their defaults, whatever calls them.
set client_min_messages = error;
create schema test_send_default;
set search_path = test_send_default, public;
select queue_create('jobs');
create sequence numbers;
create function next_number() returns bigint language sql as $$ select nextval('test_send_default.numbers') $$;
alter table jobs add column plain integer default 7, add column called bigint default next_number(),
	add column session text default current_user, add column made timestamptz default now();
create procedure send_all() language sql as $$
	select queue_send('jobs', '1');
	select queue_send_many('jobs', '{2,3}');
	select queue_unique_insert('jobs', '4');
	select queue_unique_insert_many('jobs', '{5,6}');
$$;
call send_all();
set queue_ext.claim_path = portable;
call send_all();
reset queue_ext.claim_path;
select payload, plain, called, session = current_user as session, made is not null as made from jobs order by id;
select queue_drop('jobs');
drop schema test_send_default cascade;
