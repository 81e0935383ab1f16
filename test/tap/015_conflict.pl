# Above READ COMMITTED a statement that meets a row changed since its snapshot is tried
# anew, under a new snapshot, a hundred times; then the conflict is raised.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('conflict');
$node->init;
$node->start;

# The condition is a function that has another session change the row, so many times.
my $other = 'host=' . $node->host . ' port=' . $node->port . ' dbname=postgres';
$node->safe_psql(
	'postgres', qq{
	set client_min_messages = error;
	create extension queue_ext;
	create extension dblink;
	create table t (id integer primary key, state integer not null default 0, changes integer not null default 0);
	insert into t values (1);
	create table most (changes integer);
	create sequence tries;
	create function is_free(state integer) returns boolean language plpgsql volatile as \$\$
	begin
		if state = 0 and nextval('tries') <= (select changes from most) then
			perform dblink_connect('other', '$other') where 'other' <> all (coalesce(dblink_get_connections(), '{}'));
			perform dblink_exec('other', 'update t set changes = changes + 1');
		end if;
		return state = 0;
	end \$\$;
	select queue_attach('t', 't', 'is_free(state)', 'id', 'state = 1', on_release => 'state = 0');
});

# What a pop gives when the row changes so many times, or its error, and how many times
# it was looked at.
sub claim
{
	my ($level, $changes) = @_;
	$node->safe_psql('postgres', "delete from most; insert into most values ($changes); alter sequence tries restart; update t set state = 0");
	my ($got, $said);
	$node->psql('postgres', "\\set VERBOSITY sqlstate\nbegin isolation level $level;\nselect id from queue_pop_rows(null::t);\ncommit",
		stdout => \$got, stderr => \$said);
	my ($state) = $said =~ /ERROR:\s+(\w{5})/;
	return ($state // $got) . ' ' . $node->safe_psql('postgres', 'select last_value from tries');
}

for my $level ('repeatable read', 'serializable')
{
	is(claim($level, 0), '1 1', "$level: no conflict");
	is(claim($level, 99), '1 100', '... so many conflicts are not told of');
	is(claim($level, 100), '40001 100', '... one more is');
}

done_testing();
