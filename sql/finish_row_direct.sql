-- queue_complete_row without a statement does what the statement does: the same rows,
-- fences, constraints, errors and rights, on either path.
set client_min_messages = error;
create schema test_row_direct;
set search_path = test_row_direct, public;
create function error_of(command text) returns text language plpgsql as $$
declare result text;
begin
	execute 'select (' || command || ')::text' into result;
	return result;
exception when others then
	return sqlstate;
end $$;

-- One queue for each claim mode, over keys and columns of many kinds.
create table w (
	a integer, gone integer, b text collate "C", state integer not null default 0 check (state < 5),
	worker text, taken float8, blob text, note text unique, made timestamptz,
	primary key (b, a)
);
alter table w drop column gone;
create index on w (a) where state = 0;
create procedure setup(mode text) language plpgsql as $$ begin
	delete from w;
	insert into w (a, b, blob, note) select i, 'k' || i, (select string_agg(md5(n::text), '') from generate_series(1, 500) as n), 'note ' || i
	from generate_series(1, 9) as i;
	if exists (select from queues where source = 'w'::regclass) then
		perform queue_detach('w');
	end if;
	perform queue_attach('w', 'w', 'state = 0', 'a',
		case mode when 'update' then $f$state = 1, worker = worker, taken = case when a = 3 then '-0' when a = 4 then 'NaN' else a::float8 end,
			blob = blob || 'x'$f$ end,
		$f$state = 2 + case when note = 'too much' then 5 else 0 end, made = case a when 5 then null else call_time end,
			note = case note when 'double' then 'note 9' else note end, a = case note when 'null' then null else a end$f$,
		claim_mode => mode);
end $$;
create table outcome (path text, mode text, n integer, what text);
create procedure remark(what text) language sql as
$$ insert into outcome select current_setting('queue_ext.claim_path'), current_setting('test.mode'), count(*), $1 from outcome $$;
create procedure complete(receipt w, what text) language plpgsql as $$ begin
	call remark(format('%s: %s', what, error_of(format('queue_complete_row(''w'', %L::test_row_direct.w)', receipt))));
end $$;
create procedure scenario(path text, mode text) language plpgsql as $$
declare jobs w[]; job w; rows_now text;
begin
	perform set_config('queue_ext.claim_path', path, true), set_config('test.mode', mode, true);
	perform pg_advisory_unlock_all();
	call setup(mode);
	select array_agg(j order by j.a) into jobs from queue_pop_rows(null::w, 'w', 8) as j;
	call complete(jobs[1], 'good');
	call complete(jobs[1], 'again');
	call complete(jobs[3], 'minus zero');
	call complete(jobs[4], 'not a number');
	call complete(jobs[5], 'null written');
	-- Another column, and one of those that the claim wrote.
	update w set note = 'other' where a = 6;
	call complete(jobs[6], 'another column changed');
	update w set blob = reverse(blob) where a = 7;
	call complete(jobs[7], 'a column of the claim changed');
	update w set blob = reverse(blob) where a = 7;
	call complete(jobs[7], 'and changed back');
	job := jobs[2];
	job.a := 3;
	call complete(job, 'another key');
	job := jobs[2];
	job.b := null;
	call complete(job, 'a null in the key');
	call complete(null, 'null');
	update w set note = 'too much' where a = 2;
	call complete(jobs[2], 'check');
	update w set note = 'double' where a = 2;
	call complete(jobs[2], 'unique');
	update w set note = 'null' where a = 2;
	call complete(jobs[2], 'not null');
	delete from w where a = 8;
	call complete(jobs[8], 'deleted');
	select string_agg(format('%s %s %s %s', a, state, w.note, made is not null), ', ' order by a) into rows_now from w;
	call remark(rows_now);
end $$;
begin; call scenario('direct', 'update'); commit;
begin; call scenario('portable', 'update'); commit;
begin; call scenario('direct', 'transaction'); commit;
begin; call scenario('portable', 'transaction'); commit;
begin; call scenario('direct', 'session'); commit;
begin; call scenario('portable', 'session'); commit;
select mode, what from outcome where path = 'direct' order by n;
-- Both paths agree.
select mode, what from outcome where path = 'direct' except select mode, what from outcome where path = 'portable';
select mode, what from outcome where path = 'portable' except select mode, what from outcome where path = 'direct';

set queue_ext.claim_path = direct;
select queue_detach('w');

-- A job of a managed queue.
select queue_create('jobs');
select count(*) from queue_send_many('jobs', '{1,2}');
select j as job from queue_pop_rows(null::jobs) as j \gset
select queue_complete_row('jobs', :'job'::jobs), queue_complete_row('jobs', :'job'::jobs);
select j as job from queue_pop_rows(null::jobs) as j \gset
update jobs set attempt = attempt + 1;
select queue_complete_row('jobs', :'job'::jobs);
select error_of($$queue_complete_row('jobs', json_populate_record(null::test_row_direct.jobs, '{"id": 2}'))$$);
select count(*) from jobs;

-- A foreign key that is still to be checked of the transaction's own version.
create table parent (id integer primary key);
insert into parent values (1);
create table child (id integer primary key, parent integer references parent deferrable initially deferred, state integer not null default 0);
select queue_attach('child', 'child', 'state = 0', 'id', claim_mode => 'transaction', on_complete => 'state = 1');
begin;
insert into child values (1, 99);
select queue_complete_row('child', j) from queue_pop_rows(null::child) as j;
\set VERBOSITY sqlstate
commit;
\set VERBOSITY default
insert into child values (2, 1);
select queue_complete_row('child', j) from queue_pop_rows(null::child) as j;

-- Rights: those of the statement.
create table added (id integer primary key, state integer not null default 0);
insert into added values (1), (2);
select queue_attach('added', 'added', 'state = 0', 'id', 'state = 1', 'state = 2');
create role regress_row_direct;
grant usage on schema test_row_direct to regress_row_direct;
grant select on added, child to regress_row_direct;
grant update (state) on added to regress_row_direct;
update added set state = 1;
set role regress_row_direct;
select error_of($$queue_complete_row('child', row(2, 1, 1)::test_row_direct.child)$$);
select error_of($$queue_complete_row('added', row(1, 1)::test_row_direct.added)$$);
reset role;
-- Enough to open the queue, and not to update.
revoke update (state) on added from regress_row_direct;
grant delete on added to regress_row_direct;
set role regress_row_direct;
select error_of($$queue_complete_row('added', row(2, 1)::test_row_direct.added)$$);
reset role;

-- Published without a replica identity.
alter table added replica identity nothing;
create publication regress_row_direct for table added;
select error_of($$queue_complete_row('added', row(2, 1)::test_row_direct.added)$$);
drop publication regress_row_direct;
select error_of($$queue_complete_row('added', row(2, 1)::test_row_direct.added)$$);

-- A completion makes no sweep where it leaves nothing to claim; a row that is pending
-- after it is found at once. (To read the last row takes three seconds, which puts off sweeps by the clock for a minute.)
create table woken (id integer primary key, state integer not null default 0, rounds integer not null default 2);
insert into woken select generate_series(1, 8);
select queue_attach('woken', 'woken', $$state = 0 and pg_sleep(case id when 8 then 3 else 0 end)::text = ''$$, 'id', 'state = 1',
	'state = case when rounds > 1 and id = 3 then 0 else 2 end, rounds = rounds - 1', wake => true);
select queue_complete_row('woken', j) from queue_pop_rows(null::woken) as j;
select from queue_claim_stats_reset();
select j.id, queue_complete_row('woken', j) from queue_pop_rows(null::woken) as j;
select j.id, queue_complete_row('woken', j) from queue_pop_rows(null::woken) as j;
select sweeps from queue_claim_stats where source = 'woken'::regclass;
select j.id, queue_complete_row('woken', j) from queue_pop_rows(null::woken) as j;
select sweeps from queue_claim_stats where source = 'woken'::regclass;
-- Not so with a second queue on the table: its rows may have become claimable.
select queue_attach('second', 'woken', 'state = 2', 'id', 'state = 3', wake => true);
select from queue_pop_rows(null::woken, 'woken');
select from queue_claim_stats_reset();
select queue_complete_row('woken', w) from woken as w where state = 1;
select j.id from queue_pop_rows(null::woken, 'woken') as j;
select sweeps from queue_claim_stats where source = 'woken'::regclass and queue ~ 'woken$';

drop schema test_row_direct cascade;
drop role regress_row_direct;
