# An extension whose callback writes at the end of a transaction, after ours: the notes of its rows are in no order, and
# the commit was not counted as under way. The rows are claimed at once all the same, in the order of the queue.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir();
my $config = $ENV{PG_CONFIG} || 'pg_config';
open my $out, '>', "$dir/late.c" or die "late.c: $!";
print $out <<'C';
#include "postgres.h"
#include <unistd.h>
#include "access/xact.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

PG_MODULE_MAGIC;
void _PG_init(void);
PG_FUNCTION_INFO_V1(run_late);
PG_FUNCTION_INFO_V1(hold_commit);

static char *command = NULL;
static char *held = NULL;

static void
run(XactEvent event, void *argument)
{
	char *text = command;
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT)
		command = NULL;
	if (event != XACT_EVENT_PRE_COMMIT || text == NULL)
		return;
	command = NULL;
	PushActiveSnapshot(GetTransactionSnapshot());
	SPI_connect();
	if (SPI_execute(text, false, 0) < 0)
		elog(ERROR, "cannot run %s", text);
	SPI_finish();
	PopActiveSnapshot();
}

Datum
run_late(PG_FUNCTION_ARGS)
{
	command = MemoryContextStrdup(TopMemoryContext, text_to_cstring(PG_GETARG_TEXT_PP(0)));
	PG_RETURN_VOID();
}

/* When the transaction has committed, waits until the file is gone. */
static void
hold(XactEvent event, void *argument)
{
	while (event == XACT_EVENT_COMMIT && held != NULL && access(held, F_OK) == 0)
		pg_usleep(10000);
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT)
		held = NULL;
}

Datum
hold_commit(PG_FUNCTION_ARGS)
{
	RegisterXactCallback(hold, NULL);
	held = MemoryContextStrdup(TopMemoryContext, text_to_cstring(PG_GETARG_TEXT_PP(0)));
	PG_RETURN_VOID();
}

/* Callbacks that are registered first are called last. */
void
_PG_init(void)
{
	RegisterXactCallback(run, NULL);
}
C
close $out or die "late.c: $!";
chomp(my ($cc, $flags, $include) = map { scalar `$config --$_` } qw(cc cflags includedir-server));
$flags =~ s/-W\S+//g;
system("$cc $flags -fPIC -shared -I'$include' -o '$dir/late.so' '$dir/late.c'") == 0 or die "cannot build late.c";

my $node = PostgreSQL::Test::Cluster->new('late');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
$node->safe_psql('postgres', qq{
	create extension queue_ext;
	create function run_late(text) returns void language c as '$dir/late';
	select queue_create('q', lease => '1 hour')});
my $worker = $node->background_psql('postgres');
my $other = $node->background_psql('postgres');
$other->query_safe(qq{load '$dir/late'});
my $is_due = q{select bool_and(run_at <= clock_timestamp()) from q where leased_until is null};
my $taken = q{select string_agg(payload::text, ' ') from (select payload from queue_pop('q', 100)) as p};

# What is there before a job that this sends is due; again with more time where that was over.
sub take_early
{
	my ($send) = @_;
	my $early;
	for my $seconds (3, 10, 30, 100)
	{
		$other->query_safe($send =~ s/SECONDS/$seconds/r);
		$early = $worker->query_safe($taken);
		last if $worker->query_safe('select clock_timestamp() < max(run_at) from q') eq 't';
		$worker->query_safe('delete from q');
	}
	return $early;
}

is($worker->query_safe($taken), '', 'nothing is there, and the list is quiet');
$other->query_safe(q{select run_late($$insert into q (payload, priority) select to_jsonb(n), n from generate_series(9, 1, -1) as n$$)});
is($worker->query_safe($taken), '1 2 3 4 5 6 7 8 9', 'what is written late, in no order, is claimed in the order');
is($worker->query_safe($taken), '', 'and nothing is left');
$other->query_safe(q{begin; select queue_send('q', '5', priority => 5); select queue_send('q', '15', priority => 15);
	select run_late($$insert into q (payload, priority) select to_jsonb(n), n from generate_series(20, 10, -10) as n$$); commit});
is($worker->query_safe($taken), '5 10 15 20', 'so it is among what was sent before');
is($worker->query_safe($taken), '', 'and nothing is left');
# Jobs that fall due.
is(take_early(q{select run_late($$insert into q (payload, run_at) values ('1', clock_timestamp() + interval 'SECONDS s')$$)}),
	'', 'what is due later is not there');
$node->poll_query_until('postgres', $is_due) or die 'the job is not due';
is($worker->query_safe($taken), '1', 'and then it is');
# A claim, too.
$node->safe_psql('postgres', q{select queue_send('q', '7')});
$other->query_safe(q{select run_late($$select queue_complete('q', id, attempt) from queue_pop('q')$$)});
is($worker->query_safe($taken), '', 'what is claimed and completed late is gone');
$other->query_safe(q{begin; select queue_send('q', '8'); select run_late($$select queue_release('q', id, attempt) from queue_pop('q')$$); commit});
is($worker->query_safe($taken), '8', 'and what is given back late is claimed');

# One is taken late, and another sent: as many as before, and not in order.
$other->query_safe(q{begin; select queue_send('q', to_jsonb(n), priority => n) from generate_series(1, 3) as n;
	select run_late($late$do $do$ begin perform queue_complete('q', id, attempt) from queue_pop('q'); perform queue_send('q', '0', priority => 0); end $do$$late$); commit});
is($worker->query_safe($taken), '0 2 3', 'the order is right with one taken late and one sent');
is( take_early(q{begin; select queue_send('q', '4');
	select run_late($late$do $do$ begin perform queue_complete('q', id, attempt) from queue_pop('q');
		perform queue_send('q', '5', run_at => clock_timestamp() + interval 'SECONDS s'); end $do$$late$); commit}),
	'', 'one that is sent late for later is not there');
$node->poll_query_until('postgres', $is_due) or die 'the job is not due';
is($worker->query_safe($taken), '5', '... before its time, and then it is');

# A claim has committed, and has not told the queue of it that is left of two: that one is not idle.
my $file = "$dir/held";
append_to_file($file, '');
$node->safe_psql('postgres', qq{
	create function hold_commit(text) returns void language c as '$dir/late';
	create table item (id integer primary key, stage integer not null default 0);
	create index on item (id) where stage = 0;
	create index on item (id) where stage = 1;
	select queue_attach('sooner', 'item', 'stage = 0', 'id', 'stage = 1', wake => true);
	select queue_attach('later', 'item', 'stage = 1', 'id', 'stage = 2', wake => true);
	insert into item values (1)});
my $later = q{select count(*) from queue_pop_rows(null::item, 'later')};
$other->query_safe('begin');
is($other->query_safe(q{select count(*) from queue_pop_rows(null::item, 'sooner')}), '1', 'a row is claimed from one queue');
$other->query_safe(qq{select hold_commit('$file')});
is($worker->query_safe($later), '0', 'it is not there for the other');
$worker->query_safe(q{select queue_detach('sooner')});
is($worker->query_safe($later), '0', '... nor when that is the only one') for 1 .. 2;
$other->query_until(qr/committing/, "\\echo committing\ncommit;\n");
$node->poll_query_until('postgres', 'select stage = 1 from item') or die 'the claim is not committed';
is($worker->query_safe($later), '1', 'it is there once its claim is visible, which has told nobody yet');
unlink $file;

$_->quit for $worker, $other;
$node->stop;
my @lines = grep { /\b(?:WARNING|PANIC|TRAP)\b/ } split /\n/, slurp_file($node->logfile);
is(join("\n", @lines), '', 'the log is quiet');
done_testing();
