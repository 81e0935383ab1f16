# Time passes for a queue that keeps finished jobs for six days: a job a day for weeks with queue_maintain, so that the
# archive does not grow; then weeks without a call of it, through every slot, and the queue is right all the same;
# a clock that goes back; a crash.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../clock";
use Clock;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('keep');
$node->init;
my $clock = Clock->new($node->basedir);
my $day = 0;

sub set_day
{
	($day) = @_;
	$clock->set($day * 86400);
	return;
}

sub sql
{
	my ($query) = @_;
	return $node->safe_psql('postgres', $query);
}

# Completes a job, and has another die; both have the day as their payload. In a transaction block, so that the completion
# does not clear the archive.
sub work
{
	sql(qq{
		begin;
		select queue_send('q', '$day'), queue_send('q', '$day');
		select queue_complete('q', id, attempt, result => payload) from queue_pop('q');
		select queue_fail('q', id, attempt, 'no') from queue_pop('q');
		commit;
	});
}

# Completes one of another queue, outside of a transaction block.
sub work_singly
{
	sql("select queue_send('w', '$day')");
	sql(q{select queue_complete('w', id, attempt, result => payload) from queue_pop('w')});
}

# The days whose job is still found, by its result.
sub found
{
	my $queue = shift || 'q';
	return sql(qq{
		select string_agg((r.result)::text, ' ' order by a.id) from ${queue}_archive as a, queue_result('$queue', a.id) as r
		where r.state = 'completed'});
}

# What the tables have, past the keep or not.
sub stored { return sql('select count(*) from ' . (shift || 'q') . '_archive') }

set_day(0);
$clock->start($node);
sql(q{
	create extension queue_ext;
	select queue_create('q', archive => true, archive_keep => '6 days', dead_keep => '2 days', max_attempts => 1);
	select queue_create('w', archive => true, archive_keep => '6 days');
});

for (0 .. 20)
{
	set_day($_);
	work();
	sql(q{call queue_maintain('q')});
}
is(found(), join(' ', 15 .. 20), 'the jobs of six days are found');
cmp_ok(stored(), '<=', 7 + 8, 'the archive does not grow');
is(sql(q{select string_agg(payload::text, ' ' order by id) from q}), '19 20', 'the dead of two days are in the queue');
is(sql(q{select count(*) from q_archive where state = 'dead' and payload::text::int > 12}), 6, 'those before are in the archive');

# No call of it for four weeks. The completions of another queue clear its archive.
for (21 .. 48)
{
	set_day($_);
	work();
	work_singly();
	cmp_ok(stored('w'), '<=', 8, "day $_: completions clear the archive") if $_ > 27 && $_ % 5 == 0;
}
is(found('w'), join(' ', 43 .. 48), 'the jobs of six days are found there');
is(found(), join(' ', 43 .. 48), 'without queue_maintain too');
cmp_ok(stored(), '>', 28, 'more is stored than is found');
sql(q{call queue_maintain('q')});
is(found(), join(' ', 43 .. 48), 'one call leaves what is kept');
is(sql(q{select string_agg(payload::text, ' ' order by id) from q}), '47 48', '... also of the dead');
cmp_ok(sql(q{select count(*) from q_archive where state = 'completed'}), '<=', 7, 'and removes the rest');

# A month without any call.
set_day(80);
is(found(), '', 'all is past its keep');
sql(q{call queue_maintain('q')});
is(sql(q{select count(*) from q_archive where state = 'completed'}), 0, 'and gone');
work();
is(found(), '80', 'the next is kept');

# All slots of the other queue have come round, and are cleared one by one, with pauses that are as long as a slow machine makes
# them.
my $done = 0;
for (1 .. 600)
{
	work_singly();
	$done++;
	last if $done >= 30 && stored('w') == $done;
	select undef, undef, undef, 0.2;
}
is(stored('w'), $done, 'completions clear all of them');

# The clock goes back, and forth again.
set_day(75);
work();
is(found(), '80 75', 'a clock that goes back hides nothing');
sql(q{call queue_maintain('q')});
is(found(), '80 75', 'nor does it remove anything');
set_day(82);
is(found(), '80', 'what has expired by the clock is hidden');
sql(q{call queue_maintain('q')});
is(found(), '80', '... and no more is removed');

# A crash after the truncation.
work();
set_day(90);
sql(q{checkpoint; call queue_maintain('q')});
work();
$node->stop('immediate');
$clock->start($node);
is(found(), '90', 'after a crash it is as before');
cmp_ok(stored(), '<=', 8, '... also what was removed');
$node->stop;
done_testing();
