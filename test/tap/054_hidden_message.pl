# An error whose message may have a value of a row that the worker may not see: the worker is told the SQLSTATE, and the
# server's log has the message, the detail and the context, also where queue_maintain() passes the queue over.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('hidden');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
$node->safe_psql('postgres', q{
	create extension queue_ext;
	create role worker login;
	select queue_create('jobs', archive => true, on_expire => 'archive');
	alter table jobs enable row level security;
	alter table jobs_archive add constraint note check ((payload->>'note')::json is not null);
	grant select, update, delete on jobs to worker;
	insert into jobs (payload, expires_at) values ('{"note": "{\"secret\" 1}"}', now())});

# What the worker is told of the call, and what the log has of it.
sub told
{
	my ($call) = @_;
	my $offset = -s $node->logfile;
	my (undef, undef, $stderr) = $node->psql('postgres', $call, extra_params => [ '-U', 'worker', '-v', 'VERBOSITY=verbose' ]);
	return ($stderr, slurp_file($node->logfile, $offset));
}

foreach my $call (q{call queue_maintain('jobs')}, 'call queue_maintain()')
{
	my ($stderr, $log) = told($call);
	like($stderr, qr/22P02/, "$call fails");
	unlike($stderr, qr/secret/, "$call does not tell of the row");
	like($stderr, qr/HINT:.*server's log/, "$call tells where to look");
	like($log, qr/invalid input syntax for type json/, 'the log has the message');
	like($log, qr/JSON data, line 1: \{"secret"/, 'and the context');
}
$node->stop;
done_testing();
