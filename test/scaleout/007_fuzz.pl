# Random calls of every function of the proxy, valid or not: each is answered, with an error that is said properly,
# and leaves a session that goes on and queues that work.
#
#   SEED=7 CALLS=20000 TESTS=test/scaleout/007_fuzz.pl test/scaleout/run
#
# VERBOSE=1 shows each error.

use strict;
use warnings;

use DBI;
use DBD::Pg;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Shards;
use Test::More;

Shards::need();
my $seed = $ENV{QUEUE_EXT_SEED} || $ENV{SEED} || 1;
my $calls = $ENV{QUEUE_EXT_CALLS} || $ENV{CALLS} || 600;
srand $seed;
note("SEED=$seed CALLS=$calls");

my ($proxy, @shards) = Shards::start('backtrace_functions = \'\'');
for my $node (@shards, $proxy)
{
	$node->safe_psql('postgres', q{create role app login; grant create on schema public to app});
}
$_->safe_psql('postgres', 'grant all on throttled_resource, named_lock to app') for @shards;
$proxy->safe_psql('postgres', q{create type mood as enum ('sad', 'ok'); set role app;
	select queue_create('a', archive => true, kinds => true); select queue_create('b', lease => '1 s', max_attempts => 3); select queue_create('"Odd q"')});

sub any { return $_[ int rand @_ ]; }
sub mostly { my ($usual, @rare) = @_; return rand() < 0.9 ? any(@$usual) : any(@rare); }
sub quoted { my ($text) = @_; return defined $text ? "'" . $text =~ s/'/''/gr . "'" : 'null'; }

my @ids = (1);
sub id { return mostly([ @ids[ -20 .. -1 ] ], 0, -1, 1 << 43, 5 << 43, 1023 << 43, '9223372036854775807', 'null') // 1; }
sub attempt { return mostly([ 1, 1, 1, 2 ], 0, -1, 2147483647, 'null'); }
sub many { my ($of) = @_; return rand() < 0.1 ? any('null', "'{}'", "'{{1,2},{3,4}}'") : 'array[' . join(', ', map { $of->() } 1 .. 1 + int rand 6) . ']'; }
sub payload { return quoted(mostly([ '1', '2', '{"a": 1}', '{"a": 1.0, "b": "x"}', '"x"', '{}', '[1, 2]' ], 'null', '{"a": {"b": [null]}}', '{"a": "' . 'x' x 5000 . '"}', undef, '{')); }
sub key { return quoted(mostly([ map { "k$_" } 1 .. 9 ], '', ' ', "o'k", "\\", "\xc3\xa9", 'k' x 3000, undef)); }
sub interval { return quoted(mostly([ '0 s', '1 s', '5 minutes', '0.01 s' ], '-1 s', '1 month', '178000000 years', 'infinity', undef)); }

# By the name of an argument, or else by its type.
my %by_name = (
	queue => sub { quoted(mostly([ 'a', 'a', 'b', '"Odd q"', 'public.a' ], 'no', '', 'x.y.z', '"', "o'b", 'pg_temp.t', 'q' x 70, undef)) },
	wait => sub { quoted(mostly([ '0 s', '0.02 s' ], '-1 s', undef)) },
	task_id => \&key,
	resource => \&key,
	partition_key => \&key,
	name => \&key,
	kind => sub { quoted(mostly([ 'x', 'y' ], '', 'z' x 300, undef)) },
	kinds => sub { any('null', "array['x']", "array['x', 'y', null]", "'{}'") },
	condition => sub { quoted(mostly([ 'true', "payload = '1'", 'attempts > 0' ], 'bogus(', '1; drop table a', 'attempts', undef)) },
	cron => sub { quoted(mostly([ '* * * * *', '0 3 * * 1-5', undef ], '61 * * * *', 'x')) },
	time_zone => sub { quoted(mostly([ 'UTC', 'Europe/Berlin' ], 'Nowhere/None')) },
	missed => sub { quoted(mostly([ 'once', 'skip' ], 'x')) },
	states => sub { any('null', "'{ready,leased}'", "'{done,dead}'", "'{x}'", "'{}'") },
	unique_by => sub { any('null', "'{a}'", "'{}'", "'{b,a}'", "'{a,null}'") },
	id => \&id,
	ids => sub { many(\&id) },
	attempt => \&attempt,
	attempts => sub { many(\&attempt) });
my %by_type = (
	text => sub { quoted(mostly([ 'x', 'y z' ], '', "o'x", "\\x", undef)) },
	'text[]' => sub { many(sub { quoted(any('x', 'y', undef)) }) },
	bigint => \&id,
	integer => sub { mostly([ 1, 2, 3, 10 ], 0, -1, 2147483647, 'null') },
	'integer[]' => sub { many(\&attempt) },
	'bigint[]' => sub { many(\&id) },
	jsonb => \&payload,
	'jsonb[]' => sub { many(\&payload) . '::jsonb[]' },
	interval => \&interval,
	'interval[]' => sub { many(\&interval) . '::interval[]' },
	'timestamp with time zone' => sub { quoted(mostly([ 'now', '2030-01-01', '2000-01-01' ], 'infinity', '-infinity', undef)) },
	boolean => sub { any('true', 'false', 'null') },
	anyenum => sub { any("'sad'::mood", "'ok'::mood", 'null::mood') },
	bytea => sub { any(q{'\x00ff'}, 'null') });

my %session;
sub session
{
	my ($role) = @_;
	return $session{$role} //= DBI->connect('dbi:Pg:' . $proxy->connstr('postgres'), undef, undef,
		{ RaiseError => 1, PrintError => 0, PrintWarn => 0, AutoCommit => 1, pg_server_prepare => 0 });
}
my @functions = @{ session('postgres')->selectall_arrayref(q{
	select p.proname, p.prokind, n.n, coalesce(p.proargnames[n.n], ''), coalesce(p.proargmodes[n.n], 'i'), format_type(t.t, null), p.pronargs - p.pronargdefaults, p.oid
	from queue_proxy.member m
	join pg_proc p on p.oid = to_regprocedure(m.identity),
		lateral unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality as t(t, n), lateral (select t.n) as n(n)
	where m.kind in ('function', 'procedure')
	order by p.oid, n.n}) };
my %function;
for (@functions)
{
	my ($name, $kind, $n, $argument, $mode, $type, $required, $oid) = @$_;
	my $f = $function{$oid} //= { name => $name, kind => $kind, required => $required, arguments => [] };
	push @{ $f->{arguments} }, { name => $argument, mode => $mode, type => $type } if $mode =~ /[ib]/;
}
my @all = map { $function{$_} } sort { $a <=> $b } keys %function;
cmp_ok(scalar @all, '>', 50, 'the functions of the proxy');
# Would end the queues too often.
my %seldom = map { $_ => 1 } qw(queue_drop queue_purge queue_delete_where queue_pause queue_create queue_maintain);

my (%state, %tried, @bad);
for my $n (1 .. $calls)
{
	my $f = any(@all);
	next if $seldom{ $f->{name} } && rand() < ($f->{name} eq 'queue_create' ? 0.3 : 0.9);
	my @arguments = @{ $f->{arguments} };
	my $is_procedure = $f->{kind} eq 'p';
	if (!$is_procedure) { pop @arguments while @arguments > $f->{required} && rand() < 0.6; }
	my $list = join(', ', map {
		$is_procedure && $_->{mode} eq 'b' ? 'null' : (($_->{type} eq 'boolean' ? undef : $by_name{ $_->{name} }) // $by_type{ $_->{type} } // die "no value for $_->{type}")->()
	} @arguments);
	my $sql = ($is_procedure ? 'call ' : 'select * from ') . "$f->{name}($list)";
	my $role = any(qw(app app app postgres));
	my $session = session($role);
	$tried{ $f->{name} } = 1;
	my @before = ("set role $role");
	push @before, 'set datestyle = ' . quoted(any('ISO, MDY', 'SQL, DMY', 'German')) if rand() < 0.1;
	push @before, 'set statement_timeout = ' . any(0, 0, 3, 20) if rand() < 0.2;
	push @before, 'begin isolation level ' . any('read committed', 'repeatable read', 'serializable') if rand() < 0.1;
	my $rows = eval {
		$session->do($_) for @before;
		my $got = $session->selectall_arrayref($sql, { Slice => {} });
		$state{ok}++;
		$got;
	};
	if (!defined $rows)
	{
		my $state = $session->state;
		$state{$state}++;
		note("$state $sql: " . $session->errstr) if $ENV{VERBOSE};
		push @bad, "$state $sql: " . $session->errstr if $state =~ /^(XX|08|58|S8006|22P05)/ || !$session->ping;
	}
	for (@{ $rows // [] })
	{
		my $id = $_->{id} // $_->{ $f->{name} } // '';
		push @ids, $id if $id =~ /^\d{1,17}$/;
	}
	# Also these may meet the timeout.
	my $is_reset;
	for (1 .. 20)
	{
		$is_reset = eval { $session->do('rollback') if $session->ping != 1; $session->do('reset all; reset role'); 1 } and last;
		last if $session->state ne '57014';
	}
	push @bad, "after $sql: $@" if !$is_reset;
	last if @bad > 5;
}
note(join ', ', map { "$_: $state{$_}" } sort keys %state);
is(join("\n", @bad), '', 'no call is answered by an internal error, or ends its session');
cmp_ok(scalar(keys %tried), '>', 45, 'most functions were called');
cmp_ok($state{ok} // 0, '>', $calls / 10, 'many calls succeeded');

# The queues that are left work.
my $app = session('postgres');
$app->do('reset all; reset role');
for my $queue ('a', 'b')
{
	eval { $app->do("select queue_create('$queue')"); };
	eval { $app->do("select queue_resume('$queue')"); };
	my ($sent) = $app->selectrow_array("select count(queue_send('$queue', '{\"last\": 1}', run_at => '2000-01-01', partition_key => 'k' || i)) from generate_series(1, 30) as i");
	is($sent, 30, "queue $queue takes jobs");
	my ($done, $seen) = (0, {});
	for (1 .. 500)
	{
		my $jobs = $app->selectall_arrayref("select id, attempt, payload ->> 'last' as last, queue_complete('$queue', id, attempt) as done from queue_pop('$queue', 50)", { Slice => {} });
		last if !@$jobs;
		for (@$jobs)
		{
			$done += $_->{last} ? 1 : 0 if $_->{done};
			$seen->{"$_->{id}-$_->{attempt}"}++;
		}
	}
	is($done, 30, 'which are claimed and completed');
	is(scalar(grep { $_ > 1 } values %$seen), 0, 'once each');
}
$_->disconnect for values %session;

for my $node ($proxy, @shards)
{
	my @lines = grep { /\b(PANIC|TRAP)\b|\[XX\d\d\d\]|terminated by signal/ } split /\n/, slurp_file($node->logfile);
	is(join("\n", @lines[ 0 .. ($#lines < 4 ? $#lines : 4) ]), '', 'the log of ' . $node->name . ' is quiet');
}

done_testing();
