# An extension that audits or restricts statements by the executor's permission checks
# (pgaudit, sepgsql) sees what our functions do to tables: where there is such a hook, a
# statement does it, since the direct path has no executor. The hook here is a module of
# a few lines, which logs every check and can refuse it.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir();
my $config = $ENV{PG_CONFIG} || 'pg_config';

sub write_file
{
	my ($name, $text) = @_;
	open my $out, '>', "$dir/$name" or die "$name: $!\n";
	print $out $text;
	close $out or die "$name: $!\n";
}

write_file('watch.c', <<'C');
#include "postgres.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/parsenodes.h"
#include "parser/parse_relation.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

PG_MODULE_MAGIC;
void _PG_init(void);

static bool refuses = false;

static bool
look(List *entries, AclMode (*rights_of)(RangeTblEntry *, void *), void *context)
{
	ListCell *cell;
	foreach(cell, entries)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, cell);
		AclMode rights = rights_of(entry, context);
		if (rights != 0)
			ereport(NOTICE, (errmsg("checked %s:%s%s%s%s", get_rel_name(entry->relid),
									rights & ACL_SELECT ? " select" : "", rights & ACL_INSERT ? " insert" : "",
									rights & ACL_UPDATE ? " update" : "", rights & ACL_DELETE ? " delete" : "")));
		if (refuses && (rights & ~ACL_SELECT) != 0)
			ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("refused")));
	}
	return true;
}

#if PG_VERSION_NUM >= 160000
static AclMode
rights_of(RangeTblEntry *entry, void *permissions)
{
	return entry->perminfoindex == 0 ? 0 : getRTEPermissionInfo((List *) permissions, entry)->requiredPerms;
}

static bool
watch(List *entries, List *permissions, bool raises)
{
	return look(entries, rights_of, permissions);
}
#else
static AclMode
rights_of(RangeTblEntry *entry, void *context)
{
	return entry->rtekind == RTE_RELATION ? entry->requiredPerms : 0;
}

static bool
watch(List *entries, bool raises)
{
	return look(entries, rights_of, NULL);
}
#endif

void
_PG_init(void)
{
	DefineCustomBoolVariable("watch.refuses", "", NULL, &refuses, false, PGC_USERSET, 0, NULL, NULL, NULL);
	ExecutorCheckPerms_hook = watch;
}
C
write_file('Makefile', <<"MAKE");
MODULES = watch
PG_CONFIG = $config
override with_llvm = no
PGXS := \$(shell \$(PG_CONFIG) --pgxs)
include \$(PGXS)
MAKE
my $build = `make -s -C '$dir' MAKEFLAGS= MAKELEVEL= 2>&1`;
is($?, 0, 'the module builds') or BAIL_OUT($build);

my $node = PostgreSQL::Test::Cluster->new('hook');
$node->init;
$node->start;
$node->safe_psql('postgres', q{
	create extension queue_ext;
	select queue_create('jobs', lease => '1 hour');
	create table u (id integer primary key, state integer not null default 0);
	create index on u (id) where state = 0;
	create table x (like u including all);
	create table s (like u including all);
	insert into u select generate_series(1, 9);
	insert into x table u;
	insert into s table u;
	select queue_attach('u', 'u', 'state = 0', 'id', 'state = 1'),
		queue_attach('x', 'x', 'state = 0', 'id', claim_mode => 'transaction'),
		queue_attach('s', 's', 'state = 0', 'id', claim_mode => 'session');
	select queue_send_many('jobs', '{1,2,3,4}'), queue_unique_insert('jobs', '"there"');
	select queue_pop('jobs', 2);
	select throttle_create('r', '1 hour'), mutex_acquire('held');
});

# What each call must be seen to do.
my @calls = (
	[ q{queue_pop('jobs')}, 'jobs', 'update' ],
	[ q{queue_pop('jobs', 3)}, 'jobs', 'update' ],
	[ q{queue_pop_rows(null::u)}, 'u', 'update' ],
	[ q{queue_pop_rows(null::x)}, 'x', 'update' ],
	[ q{queue_pop_rows(null::s)}, 's', 'select' ],
	[ q{queue_send('jobs', '1')}, 'jobs', 'insert' ],
	[ q{queue_send_many('jobs', '{1,2}')}, 'jobs', 'insert' ],
	[ q{queue_complete('jobs', 1, 1)}, 'jobs', 'delete' ],
	[ q{queue_complete_many('jobs', '{1}', '{1}')}, 'jobs', 'delete' ],
	[ q{queue_unique_insert('jobs', '"new"')}, 'jobs', 'insert' ],
	[ q{queue_unique_insert('jobs', '"there"')}, 'jobs', 'select' ],
	[ q{queue_unique_insert_many('jobs', array['"new"']::jsonb[])}, 'jobs', 'insert' ],
	[ q{lock_throttled_resource('r', 'x')}, 'throttled_resource', 'update' ],
	[ q{mutex_acquire('held')}, 'named_lock', 'update' ],
	[ q{mutex_acquire('new')}, 'named_lock', 'update' ],
	[ q{timeout_acquire('new', '1 hour')}, 'named_lock', 'update' ],
	[ q{mutex_release('held')}, 'named_lock', 'update' ],
);

sub call
{
	my ($call, $refuses) = @_;
	my ($stdout, $stderr);
	$node->psql('postgres', qq{
		load '$dir/watch.so';
		set watch.refuses = $refuses;
		\\set VERBOSITY verbose
		begin;
		select $call;
		rollback;
	}, stdout => \$stdout, stderr => \$stderr);
	return $stderr;
}

for my $case (@calls)
{
	my ($call, $table, $right) = @$case;
	like(call($call, 'off'), qr/checked $table:.* $right\b/, "$call is seen");
	next if $right eq 'select';
	like(call($call, 'on'), qr/42501: refused/, "$call is refused");
}

# Reads by an index, and reads that find nothing.
$node->safe_psql('postgres', q{
	select queue_create('none', kinds => true), queue_create('some', kinds => true);
	select queue_send('some', '1', kind => 'a');
});
for my $queue ('none', 'some')
{
	my ($status, $stdout, $stderr) = $node->psql('postgres', qq{
		load '$dir/watch.so';
		call queue_wait('$queue', '0');
	});
	like($stderr, qr/checked $queue: select\b/, "queue_wait() is seen ($queue)");
	($status, $stdout, $stderr) = $node->psql('postgres', qq{
		load '$dir/watch.so';
		alter table "$queue" alter payload set statistics 100; -- begins anew
		call queue_wait('$queue', '0', kinds => '{a,b}');
	});
	like($stderr, qr/checked $queue: select\b/, "and for some kinds ($queue)");
}
like(call(q{queue_pop('none')}, 'off'), qr/checked none: select\b/, 'a pop that finds nothing is seen');
like(call(q{queue_pop('none', kinds => '{b}')}, 'off'), qr/checked none: select\b/, 'and of one kind');

is($node->safe_psql('postgres', q{
		select (select count(*) from jobs), (select string_agg(state::text, '' order by id) from u),
			(select string_agg(task_id, ' ') from named_lock where held), (select last_locked from throttled_resource)}),
	'5|000000000|held|-infinity', 'nothing is left of it');

# The read that tells failures from releases is shown to the hook, too, and its result is used.
my ($status, $out, $seen) = $node->psql('postgres', qq{
	load '$dir/watch.so';
	select from queue_create('failing', backoff_base => '1000 days', backoff_cap => '100000 days', lease => '1 hour');
	select from queue_send('failing', '1');
	do \$\$ begin
		for i in 1 .. 5 loop
			perform queue_release('failing', id, attempt) from queue_pop('failing');
		end loop;
		perform queue_fail('failing', id, attempt) from queue_pop('failing');
	end \$\$;
	select run_at < now() + interval '1001 days' from failing;
});
is($out, 't', 'what was released is told from failures');

done_testing();
