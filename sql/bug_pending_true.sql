-- A condition that is always true does not keep claims from the ring: of a queue in whose table all
-- rows are pending, and of a CHECK.
set client_min_messages = error;
create schema test_pending_true;
set search_path = test_pending_true, public;
set queue_ext.claim_path = direct;
create table t (id int primary key, note text check (true));
create table u (id int primary key, note text check (1 = 1 or note is null));
create view claims as
select queue, claims, empty_pops from queue_claim_stats where source in ('t'::regclass, 'u'::regclass) order by queue;

insert into t select generate_series(1, 3);
select queue_attach('t', 't', pending => 'true', order_by => 'id', claim_mode => 'transaction');
select id from queue_pop_rows(null::t);
begin;
select id, queue_complete_row('t', j) from queue_pop_rows(null::t, max_jobs => 2) as j;
commit;
select id from queue_pop_rows(null::t);
select * from claims;
-- Written otherwise, and a condition that is never true.
insert into u select generate_series(1, 3);
select queue_attach('u', 'u', pending => '1 < 2 and not false', order_by => 'id', claim_mode => 'session', on_complete => 'note = 1');
select id from queue_pop_rows(null::u);
select queue_attach('none', 'u', pending => 'false', order_by => 'id', on_claim => 'note = 1');
select id from queue_pop_rows(null::u, 'none');
select * from claims;
-- The claim writes a column of the row that the CHECK looks at.
select queue_attach('checked', 't', pending => 'note is null', order_by => 'id', on_claim => 'note = worker');
select id, note from queue_pop_rows(null::t, 'checked', worker => 'me');
select * from claims;

drop schema test_pending_true cascade;
select pg_advisory_unlock_all();
