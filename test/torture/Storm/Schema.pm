# The tables, queues and ledgers of a storm.
#
# A ledger has no constraint: it must show what happened. It is written in the same
# transaction as the act, so that what a client heard does not matter for it. What a client
# heard is in its own log (Storm::Client), for the promises about acknowledgements.

package Storm::Schema;

use strict;
use warnings;

# How a queue's jobs are claimed: by id and attempt, or by rows of the table.
our %form = (
	jobs => 'managed',
	kept => 'managed',
	big => 'managed',
	mended => 'managed',
	fleeting => 'managed',
	various => 'managed',
	mortal => 'managed',
	perishable => 'managed',
	items => 'rows',
	audited => 'rows',
	parts => 'rows',
	locked => 'transaction',
	held => 'session',
);

# For how long "fleeting" keeps finished jobs.
our $keep = '6 seconds';

# By what rules jobs recur in a phase: the names of its schedules end with these.
our @rules = qw(once skip all);

sub begin_schedules
{
	my ($db, $phase) = @_;
	$db->do("select queue_schedule('recurring', n, '1 second', missed => r, payload => jsonb_build_object('n', n))
		from unnest(?::text[]) as r, lateral concat('$phase ', r) as n", undef, \@rules);
	$db->do("select queue_schedule('recurring', ?, cron => '* * * * *', payload => '{}')", undef, "$phase cron");
}

sub create
{
	my ($tablespace) = @_;
	my $place = $tablespace ? "create tablespace small location '$tablespace';" : '';
	my $move = $tablespace ? 'alter table big set tablespace small; alter table big set (fillfactor = 45);' : '';
	my $rows = q{
		pending => 'state < 2 and (until is null or until <= call_time)', order_by => 'id',
		on_claim => 'state = 1, tries = tries + 1, until = call_time + lease',
		on_release => 'state = 0, until = null', on_fail => 'state = 0, until = null',
		on_extend => 'until = call_time + lease', lease => '2 seconds'};
	my $columns = q{id bigint generated always as identity, token text not null,
		state smallint not null default 0, tries integer not null default 0, until timestamptz};
	return $place, qq{
		create extension queue_ext;
		create extension amcheck;
		select queue_create(q, lease => '2 seconds', max_attempts => 1000000, backoff_base => '10 milliseconds',
			backoff_cap => '200 milliseconds', archive => q = 'kept') from unnest('{jobs,kept,big,mended,other}'::text[]) as q;
		-- Two have the tables of 0.1, until a client upgrades them.
		select queue_detach(q) from unnest('{jobs,kept}'::text[]) as q;
		alter table jobs drop claimed_at, drop kind, drop released, drop errors, drop progress, drop origin, drop expires_at;
		alter table kept drop claimed_at, drop kind, drop released, drop errors, drop progress, drop origin, drop expires_at;
		alter table kept_archive drop claimed_at, drop kind, drop errors, drop progress, drop origin;
		select queue_adopt(q) from unnest('{jobs,kept}'::text[]) as q;
		$move

		-- What jobs say of their attempts is of attempts that they had.
		alter table mended add check (jsonb_array_length(errors) <= 10 and (errors -> -1 ->> 'attempt')::integer <= attempt
			and progress::integer <= attempt);

		-- Keeps results, and these and dead jobs for moments only.
		select queue_create('fleeting', lease => '2 seconds', max_attempts => 1000000, backoff_base => '10 milliseconds',
			backoff_cap => '200 milliseconds', archive => true, archive_keep => '$keep', dead_keep => '2 seconds');
		-- Workers name kinds.
		select queue_create('various', lease => '2 seconds', max_attempts => 1000000, backoff_base => '10 milliseconds',
			backoff_cap => '200 milliseconds', kinds => true);
		-- Its jobs die soon, and are sent again from where they go then.
		select queue_create('letters', lease => '2 seconds');
		select queue_create('mortal', lease => '2 seconds', max_attempts => 2, backoff_base => '10 milliseconds',
			backoff_cap => '200 milliseconds', dead_queue => 'letters');
		-- Its jobs may expire before a worker starts them, and are in the archive then.
		select queue_create('perishable', lease => '2 seconds', max_attempts => 1000000, backoff_base => '10 milliseconds',
			backoff_cap => '200 milliseconds', archive => true, on_expire => 'archive');
		-- Jobs come again; each phase has schedules of its own.
		select queue_create('recurring', lease => '2 seconds', max_attempts => 1000000, backoff_base => '10 milliseconds',
			backoff_cap => '200 milliseconds');

		create table items ($columns, primary key (id));
		create index on items (id) where state < 2;
		select queue_attach('items', 'items', $rows, wake => true);

		create table audited ($columns, primary key (id));
		create index on audited (id) where state < 2;
		create table audit (id bigint, tries integer);
		create function note() returns trigger language plpgsql as
			'begin insert into audit values (new.id, new.tries); return null; end';
		create trigger note after update on audited for each row
			when (old.tries is distinct from new.tries) execute function note();
		select queue_attach('audited', 'audited', $rows);

		create table parts ($columns, part integer not null, primary key (id, part)) partition by list (part);
		create table parts_0 partition of parts for values in (0);
		create table parts_1 partition of parts for values in (1);
		create table parts_2 partition of parts for values in (2);
		create index on parts (id) where state < 2;
		select queue_attach('parts', 'parts', $rows);

		create table locked (id bigint generated always as identity primary key, token text not null);
		select queue_attach('locked', 'locked', 'true', order_by => 'id', claim_mode => 'transaction');
		create table held (id bigint generated always as identity primary key, token text not null);
		select queue_attach('held', 'held', 'true', order_by => 'id', claim_mode => 'session');

		create table noise (number integer);
		create table sent (queue text, token text);
		create table claimed (queue text, id bigint, attempt integer, client integer);
		-- Not before "at" the job was done; null: by a clock that was stepping.
		create table done (queue text, token text, id bigint, attempt integer, client integer, at timestamptz default statement_timestamp());
		create index on done (at) where queue = 'fleeting';
		create table sent_again (token text, origin jsonb);
		create table kind_claimed (id bigint, attempt integer, kind text, sent text, kinds text[]);
		create table result_read (id bigint, attempt integer, token text, client integer, done_at timestamptz,
			state text, finished_at timestamptz, result jsonb, began timestamptz, ended timestamptz);
		create table occurred (name text, planned timestamptz, id bigint, attempt integer, client integer);
		create table business (token text);
		create table unique_told (key text, id bigint, inserted boolean);
		create table granted (resource text, at timestamptz, phase text);
		create table acquired (task text, token bigint, client integer);
		create table released (task text, token bigint);
		create table counter (task text primary key, value bigint);
		insert into counter select 'task ' || n, 0 from generate_series(0, 3) as n;
		select throttle_create('resource ' || n, '100 milliseconds') from generate_series(0, 2) as n;
		select queue_create('unique_jobs', lease => '2 seconds', max_attempts => 1000000);

		-- To the accounts a job that a repair has cancelled is one that is done.
		create function note_expired() returns trigger language plpgsql as
			'begin insert into public.done values (''perishable'', new.payload ->> ''t'', new.id, new.attempt, -8); return null; end';
		create trigger note_expired after insert on perishable_archive for each row when (new.state = 'expired') execute function note_expired();
		create function note_cancelled() returns trigger language plpgsql as
			'begin insert into done values (''mended'', old.payload ->> ''t'', old.id, old.attempt, -5); return null; end';
		create trigger note_cancelled after delete on mended for each row
			when (current_query() like 'call queue_cancel_where%') execute function note_cancelled();

		-- So is one that has been dead for too long. It is archived as the owner, who searches pg_catalog only.
		create function note_dead() returns trigger language plpgsql as
			'begin insert into public.done values (''fleeting'', old.payload ->> ''t'', old.id, old.attempt, -6); return null; end';
		create trigger note_dead after delete on fleeting for each row when (old.dead_at is not null) execute function note_dead();

		-- Waits for a job, claims it and notes that.
		create procedure pop_waiting(queue text, wait interval, lease interval, client integer, kinds text[],
			inout id bigint, inout attempt integer, inout token text)
		language plpgsql as \$\$
		declare
			j queue_job;
		begin
			call queue_pop_wait(queue, wait, lease, null, id, attempt, j.payload, j.priority, j.run_at, j.max_attempts, j.leased_until,
				j.leased_by, j.last_error, j.created_at, j.kind, kinds);
			if id is not null then
				token := j.payload ->> 't';
				insert into claimed values (queue, id, attempt, client);
				if queue = 'various' then
					insert into kind_claimed values (id, attempt, j.kind, j.payload ->> 'k', kinds);
				end if;
			end if;
		end \$\$;

		create procedure pop_waiting_any(queues text[], wait interval, lease interval, client integer, weights integer[],
			inout queue text, inout id bigint, inout attempt integer, inout token text)
		language plpgsql as \$\$
		declare
			j queue_job;
		begin
			call queue_pop_wait_any(queues, wait, lease, null, queue, id, attempt, j.payload, j.priority, j.run_at, j.max_attempts,
				j.leased_until, j.leased_by, j.last_error, j.created_at, j.kind, null, weights);
			if id is not null then
				token := j.payload ->> 't';
				insert into claimed values (queue, id, attempt, client);
			end if;
		end \$\$;

		-- Claims and completes up to n jobs; a random part of it is undone by an exception.
		create function work(client integer, queue text, n integer, spoil integer) returns integer
		language plpgsql as \$\$
		declare
			job record;
			count integer := 0;
		begin
			for i in 1 .. n loop
				begin
					for job in select * from queue_pop(work.queue, 2) loop
						insert into claimed values (work.queue, job.id, job.attempt, client);
						insert into done select work.queue, job.payload ->> 't', job.id, job.attempt, client
						where queue_complete(work.queue, job.id, job.attempt);
					end loop;
					if i % 3 = spoil then
						raise exception 'spoiled';
					end if;
					count := count + 1;
				exception when raise_exception then
					null;
				end;
			end loop;
			return count;
		end \$\$;
	};
}

1;
