# The server's clock is set back by an hour while workers wait: waits end in time, and what becomes
# claimable then is found as soon as at any other time, also where only looks by the clock find it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../clock";
use Clock;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('wait_clock');
$node->init;
my $clock = Clock->new($node->basedir);
$clock->start($node);

sub sql
{
	my ($query) = @_;
	return $node->safe_psql('postgres', $query);
}

sql(q{
	create extension queue_ext;
	select queue_create(q) from unnest('{ending,paused,told}'::text[]) as q;
	select queue_pause('paused');
	create table t (id integer primary key, state text not null default 'new');
	create index on t (id) where state = 'new';
	select queue_attach('looked_at', 't', pending => $$state = 'new'$$, order_by => 'id', on_claim => $$state = 'done'$$);
	select (select id from queue_pop(q)) from unnest('{told,ending}'::text[]) as q;
	select from queue_pop_rows(null::t, 'looked_at');
});

my %waiter;

sub begin_to_wait
{
	my ($name, $queue, $wait) = @_;
	$waiter{$name} = $node->background_psql('postgres');
	$waiter{$name}->query_until(qr/waits/, "set application_name = '$name';\n\\echo waits\ncall queue_wait('$queue', '$wait');\n");
	$node->poll_query_until('postgres', "select wait_event_type = 'Extension' from pg_stat_activity where application_name = '$name'")
	  or die "$name does not wait";
}

sub ends
{
	my ($name, $what) = @_;
	ok($node->poll_query_until('postgres', "select state = 'idle' from pg_stat_activity where application_name = '$name'"), $what);
}

# Their time is not over before the clock is set back.
begin_to_wait('ending', 'ending', '20 s');
begin_to_wait('last of two', 'ending', '20 s');
begin_to_wait($_, $_, '30 min') for 'paused', 'told', 'looked_at';
$clock->set(-3600);
sql(q{select queue_resume('paused'), queue_send('paused', '1')});
ends('paused', 'a wait at a queue that is paused looks again');
sql(q{insert into t values (1)});
ends('looked_at', 'a wait at a table without the trigger looks again');
is(sql(q{select id from queue_pop_rows(null::t, 'looked_at')}), 1, '... and a pop finds what it was for');
sql(q{select queue_send('told', '1')});
ends('told', 'a wait that is told ends');
ends($_, 'a wait ends when its time is over') for 'ending', 'last of two';

# Without one who waits: the rows that are listed are not all that a pop hands out for an hour.
sql(q{insert into t select generate_series(5, 14)});
is(sql(q{select id from queue_pop_rows(null::t, 'looked_at')}), 5, 'a pop lists rows');
$clock->set(-7200);
sql(q{insert into t values (0)});
is(sql(q{select id from queue_pop_rows(null::t, 'looked_at')}), 0, '... and when the clock has been set back, the next one reads the table again');

# While a list is filled.
$node->safe_psql('postgres', qq{
	create function step_back() returns void language plpgsql volatile as \$\$
	begin
		copy (select where false) to program 'perl -e "open F, q(+<:raw), shift; syswrite F, pack q(q), -10800" $clock->{file}';
	end \$\$;
	create function steps(id integer) returns boolean language plpgsql immutable as \$\$
	begin
		if current_setting('clock.steps', true) = 'on' then
			perform set_config('clock.steps', 'off', false), step_back();
		end if;
		return true;
	end \$\$;
	create table s (id integer primary key, state text not null default 'new');
	create index on s (id) where state = 'new';
	insert into s values (1);
	select queue_attach('stepped', 's', pending => q.c, order_by => 'id', on_claim => \$q\$state = 'done'\$q\$) from (values (\$q\$state = 'new' and steps(id)\$q\$)) as q (c);
	set clock.steps = on;
	select id from queue_pop_rows(null::s, 'stepped')});
is(sql(q{select fill_time >= 0 and sweeps > 0 from queue_claim_stats where source = 's'::regclass}), 't', 'no time that a list took is negative');

$_->quit for values %waiter;
$node->stop;
done_testing();
