# With debug_discard_caches all that a backend has cached is void whenever it could accept
# an invalidation: memory in use must not be freed, and no call may wait for a moment
# without news. Only servers with assertions have the setting.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('discard_caches');
$node->init;
$node->append_conf('postgresql.conf', 'fsync = off');
$node->start;
plan(skip_all => 'no debug_discard_caches in a server without assertions')
  if $node->psql('postgres', 'set debug_discard_caches = 1') != 0;

$node->safe_psql('postgres', 'create extension queue_ext');

# Runs the statements in a session that discards; returns what they return.
sub discarding
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', "set client_min_messages = error; set debug_discard_caches = 1; $sql");
}

is(discarding(q{
	select queue_create('q') is not null;
	select queue_send('q', '{"a": 1}');
	select id, attempt, payload from queue_pop('q');
	select queue_fail('q', 1, 1, 'oops', '0');
	select id, attempt from queue_pop('q', 2);
	select queue_complete('q', 1, 2);
	select queue_complete('q', 1, 2);
	select queue_unique_insert('q', '{"a": 1}');
	select queue_unique_insert('q', '{"a": 1}');
	select ready, leased from queue_counts('q');
	select queue_drop('q');
}), join("\n", 't', '1', '1|1|{"a": 1}', 't', '1|2', 't', 'f', '(2,t,inserted)', '(2,f,kept)', '1|0', 't'), 'a managed queue');

$node->safe_psql('postgres', q{
	create table t (id integer primary key, state text not null default 'new', place text, note text);
	create index on t (id) where state = 'new';
	create index on t (place) where state = 'new';
	create function place() returns text stable language sql as $$ select 'here' $$;
	-- A call of the same queue from within a claim.
	create table seen (id integer);
	create function peek() returns trigger language plpgsql as $$
	begin
		insert into seen select p.id from queue_pop_rows(null::t, 'direct') as p;
		return null;
	end $$;
});
is(discarding(q{
	insert into t (id) select generate_series(1, 6);
	select queue_attach('direct', 't', $$state = 'new'$$, 'id', $$state = 'taken'$$, on_complete => $$state = 'done'$$);
	select queue_attach('by_call', 't', $$state = 'new' and place() = 'here'$$, 'id',
		$$state = 'taken', place = place()$$);
	select queue_attach('held', 't', $$state = 'new'$$, 'id', claim_mode => 'session', on_complete => $$state = 'done'$$);
	select id, state from queue_pop_rows(null::t, 'direct', 2);
	select id, place from queue_pop_rows(null::t, 'by_call');
	with job as materialized (select p from queue_pop_rows(null::t, 'held') as p)
		select (p).id, queue_complete_row('held', p) from job;
	select id, queue_complete_row('direct', t) from t where id < 3 order by id;
	update t set state = 'new' where id = 1;
	create trigger peek after update on t for each row when (new.id = 1 and new.state = 'taken')
		execute function peek();
	select id from queue_pop_rows(null::t, 'direct');
	select id from seen;
	drop trigger peek on t;
	create trigger of_place before update of place on t for each row execute function peek();
	create trigger of_note before update of note on t for each row execute function peek();
	select id from queue_pop_rows(null::t, 'direct');
	select id, state from t order by id;
}), join("\n", '', '', '', '1|taken', '2|taken', '3|here', '4|t', '1|t', '2|t', '1', '5', '6',
	'1|taken', '2|done', '3|taken', '4|done', '5|taken', '6|taken'), 'a table of one\'s own');

is(discarding(q{
	select queue_unique_insert_row((7, 'new', 'x', null)::t, array['place'], $$state = 'new'$$);
	select queue_unique_insert_row((8, 'new', 'x', null)::t, array['place'], $$state = 'new'$$);
}), join("\n", '(t,"(7,new,x,)")', '(f,"(7,new,x,)")'), 'unique rows');

is(discarding(q{
	select mutex_acquire('m'), mutex_acquire('m'), mutex_release('m'), mutex_release('m');
	select throttle_create('r', '1 hour');
	select lock_throttled_resource('r', 'first'), lock_throttled_resource('r', 'second');
	create function nothing() returns trigger language plpgsql as $$ begin return new; end $$;
	create trigger nothing before update on named_lock for each row execute function nothing();
	create trigger nothing before update on throttled_resource for each row execute function nothing();
	select mutex_acquire('m'), mutex_acquire('m'), mutex_release('m'), mutex_release('m');
	select lock_throttled_resource('r', 'third');
}), join("\n", 't|f|t|f', '', 't|f', 't|f|t|f', 'f'), 'locks and throttles');

$node->stop;
my @lines = grep { /\b(WARNING|PANIC|leak|TRAP)\b/ } split /\n/, slurp_file($node->logfile);
is(join("\n", @lines), '', 'the log is quiet');

done_testing();
