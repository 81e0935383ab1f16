// repair.cpp - queue_requeue_where, queue_cancel_where, queue_delete_where, queue_change_where:
// procedures that repair all jobs for which a condition holds.
//
// A call goes once through the IDs, from the lowest to the one that is the highest when it begins. A
// window of rows is read, without a lock, and those for which the condition holds are written in
// chunks; after each batch it commits. So it keeps no snapshot for long, meets each ID once, whatever
// the jobs do meanwhile, and what it has done stays done when it is interrupted.
//
// Workers pass by the rows that a batch has locked, and others wait for them. So a batch ends early
// when its time is over, and a chunk does not wait for a row that another transaction has locked: it
// is given up, and its jobs are repaired one by one, each in a transaction that holds no other row.
// Between two batches the call rests, so that workers keep most of a busy server.
//
// Invariant: a transaction opens the queue, compiles the condition and prepares the statements for
// itself, since all may have changed since the one before.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../array.hpp"
#include "../claim/given_back.hpp"
#include "../claim/recurring.hpp"
#include "../compat.hpp"
#include "../definition/archiving.hpp"
#include "../definition/open.hpp"
#include "../error.hpp"
#include "../result.hpp"
#include "../statement/search_path.hpp"
#include "../statement/subtransaction.hpp"
#include "../stats/transaction_counters.hpp"
#include "../steady_time.hpp"
#include "archive_clearing.hpp"
#include "finish.hpp"
#include "finish_text.hpp"
#include "procedure.hpp"
#include "repair_text.hpp"

namespace queue_ext::queue {

using definition::Definition;
using definition::Use;
using statement::Access;
using statement::Arguments;
using statement::Parameter;
using statement::Statement;

QUEUE_EXT_FUNCTION(queue_ext_queue_requeue_where);
QUEUE_EXT_FUNCTION(queue_ext_queue_cancel_where);
QUEUE_EXT_FUNCTION(queue_ext_queue_delete_where);
QUEUE_EXT_FUNCTION(queue_ext_queue_change_where);

namespace {

constexpr int window_rows = 10000; // that one statement reads
constexpr int most_jobs = 10000;   // of a batch

constexpr int64 batch_time = 25000; // microseconds for which a batch locks rows, and its commit
constexpr int64 chunk_time = 5000;  // microseconds that a chunk is to take
constexpr int first_chunk = 10;
constexpr int largest_chunk = 200;
constexpr int most_chunks = 32;        // subtransactions of a batch: PGPROC has room for 64
constexpr int lock_timeout_ms = 10;    // of a chunk
constexpr int64 notice_time = 1000000; // between two of them

// What was asked for. In memory that outlives the transactions.
struct Order
{
	Repair repair;
	const char *procedure;
	const text *queue;
	const char *condition;
	const char *search_path;
	Jsonb *arguments;
	const int16 *priority; // null: unchanged
	const TimestampTz *run_at;
	int batch_size;
};

// How far a call has come. In memory that outlives the transactions.
struct Progress
{
	MemoryContext round; // of one transaction
	Oid source;
	const char *name; // of the queue
	int64 highest;
	int64 read;             // all up to that ID were read
	bool is_read;           // there are no more
	int64 ids[window_rows]; // of the window's jobs for which the condition held
	int count;
	int next;   // the first that is not done
	int singly; // before that one jobs are repaired one by one
	int chunk;  // how many are thought to take chunk_time
	int64 jobs;
	int64 noticed;
};

// What one transaction uses.
struct Batch
{
	Definition *definition;
	const char *condition;
	Arguments arguments;
	MemoryContext context;
	const List *occurrences; // of schedules, among the jobs of the last chunk
	int64 *cancelled;        // by that chunk; null unless there are occurrences
	int cancelled_count;
};

} // namespace

static Use
use_for(Repair repair)
{
	switch (repair) {
		case Repair::cancel:
			return Use::remove;
		case Repair::erase:
			return Use::purge;
		case Repair::requeue:
		case Repair::change:
			return Use::write;
	}
	pg_unreachable();
}

static const char *
done_word(Repair repair)
{
	switch (repair) {
		case Repair::requeue:
			return "requeued";
		case Repair::cancel:
			return "cancelled";
		case Repair::erase:
			return "deleted";
		case Repair::change:
			return "changed";
	}
	pg_unreachable();
}

// The plan is freed when the transaction ends, also by an error.
static Statement
prepare_for_transaction(const Batch &batch, const char *text, Access access)
{
	const Definition *definition = batch.definition;
	Statement statement{};
	prepare(&statement, text, definition->row_type, access, tables_in(definition, text),
			{"repair (\"condition\") in", definition->name});
	const Statement kept = statement;
	discard_later(&statement);
	return kept;
}

// Raises 42P01 if the queue's table is another one than in the first transaction.
static Batch
open_batch(const Order &order, Progress *progress)
{
	argument::check_may_write(order.procedure);
	Definition *definition = open_managed_queue(
		order.queue, use_for(order.repair), "Its jobs are rows of a table of its own: use SQL.");
	if (!OidIsValid(progress->source))
		progress->source = definition->source;
	else if (progress->source != definition->source)
		error::queue_replaced(definition->name);
	const TimestampTz now = GetCurrentTimestamp();
	Batch batch{definition,
				compile_condition(definition, order.condition, order.search_path),
				Arguments(now),
				CurrentMemoryContext,
				NIL,
				nullptr,
				0};
	definition::set_slot(definition, now, &batch.arguments);
	batch.arguments.set(Parameter::arguments, JsonbPGetDatum(order.arguments));
	if (order.priority != nullptr)
		batch.arguments.set(Parameter::priority, Int16GetDatum(*order.priority));
	if (order.run_at != nullptr)
		batch.arguments.set(Parameter::run_at, TimestampTzGetDatum(*order.run_at));
	return batch;
}

static Statement
prepare_repair(const Order &order, const Batch &batch)
{
	return prepare_for_transaction(batch,
								   repair_text(batch.definition, order.repair, batch.condition,
											   order.priority != nullptr, order.run_at != nullptr),
								   Access::by_key);
}

static int64
returned_id(uint64 row)
{
	bool is_null;
	return DatumGetInt64(
		SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, 1, &is_null));
}

// The first transaction. Prepares all statements, so that an error in the condition is raised before a
// job is written.
static void
begin_repair(const Order &order, Progress *progress)
{
	const Batch batch = open_batch(order, progress);
	(void) prepare_repair(order, batch);
	progress->name = MemoryContextStrdup(GetMemoryChunkContext(progress), batch.definition->name);
	const Statement highest =
		prepare_for_transaction(batch, highest_text(batch.definition), Access::in_order);
	progress->is_read = run_newest(highest, batch.arguments) == 0;
	if (!progress->is_read)
		progress->highest = returned_id(0);
	SPI_freetuptable(SPI_tuptable);
}

// Reads the next window.
static void
read_window(Batch *batch, Progress *progress)
{
	const Statement window = prepare_for_transaction(
		*batch, window_text(batch->definition, batch->condition, progress->highest, window_rows),
		Access::in_order);
	batch->arguments.set(Parameter::id, Int64GetDatum(progress->read));
	const uint64 rows = run_newest(window, batch->arguments);
	progress->count = 0;
	progress->next = 0;
	progress->singly = 0;
	progress->is_read = rows < window_rows;
	for (uint64 i = 0; i < rows; i++) {
		const int64 id = returned_id(i);
		bool is_null;
		if (DatumGetBool(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2, &is_null)))
			progress->ids[progress->count++] = id;
		progress->read = id;
	}
	SPI_freetuptable(SPI_tuptable);
}

// Repairs the jobs with these IDs. Returns how many there were.
static int64
write_jobs(const Order &order, const Statement &statement, Batch *batch, const int64 *ids,
		   int count)
{
	if (order.repair == Repair::cancel)
		batch->occurrences = claim::find_occurrences(batch->definition, ids, count);
	Arguments *arguments = &batch->arguments;
	const Datum array = bigint_array(ids, count);
	arguments->set(Parameter::ids, array);
	const auto jobs = static_cast<int64>(run(statement, *arguments));
	if (batch->occurrences != NIL)
		batch->cancelled = returned_ids(batch->context, &batch->cancelled_count);
	SPI_freetuptable(SPI_tuptable);
	pfree(DatumGetPointer(array));
	return jobs;
}

// Repairs the jobs with these IDs in a subtransaction; *jobs: how many there were. False, with nothing
// done, if it would have to wait for another transaction.
static bool
try_to_write(const Order &order, const Statement &statement, Batch *batch, const int64 *ids,
			 int count, int64 *jobs)
{
	return statement::in_subtransaction(
		[&] {
			if (LockTimeout == 0 || LockTimeout > lock_timeout_ms)
				statement::set_locally({"lock_timeout", psprintf("%d", lock_timeout_ms)});
			*jobs = write_jobs(order, statement, batch, ids, count);
		},
		[](const ErrorData *error) { return error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE; });
}

// Sends what follows the occurrences among the jobs that were cancelled: as part of their chunk, so that
// these locks do not last long either.
static void
follow(const Batch &batch)
{
	claim::follow_cancelled(batch.definition, batch.occurrences, batch.cancelled,
							batch.cancelled_count);
}

// How many jobs to write next, after so many have taken that time.
static int
next_chunk(int count, int64 time)
{
	const int64 fitting = count * chunk_time / Max(time, 1);
	// A chunk that was small tells little of a large one.
	return static_cast<int>(Max(1, Min(fitting, Min(count * 4, largest_chunk))));
}

// Writes jobs of the window for a batch, or for as long as it may last. Returns how many there were.
static int64
write_batch(const Order &order, Batch *batch, Progress *progress)
{
	const Statement statement = prepare_repair(order, *batch);
	if (progress->next < progress->singly) {
		const int64 jobs = write_jobs(order, statement, batch, &progress->ids[progress->next++], 1);
		follow(*batch);
		return jobs;
	}
	const int64 begun = steady_now();
	const int end = Min(progress->count, progress->next + order.batch_size);
	int64 written = 0;
	for (int chunks = 0; progress->next < end && chunks < most_chunks; chunks++) {
		CHECK_FOR_INTERRUPTS();
		const int64 chunk_begun = steady_now();
		if (chunk_begun - begun + chunk_time > batch_time && chunks > 0)
			break;
		const int count = Min(progress->chunk, end - progress->next);
		int64 jobs = 0;
		if (!try_to_write(order, statement, batch, &progress->ids[progress->next], count, &jobs)) {
			progress->singly = progress->next + count;
			break;
		}
		follow(*batch);
		progress->next += count;
		progress->chunk = next_chunk(count, steady_now() - chunk_begun);
		written += jobs;
	}
	return written;
}

// Counts the jobs, and makes known to claims those that they may take now, or later.
static void
tell(const Order &order, const Batch &batch, int64 jobs)
{
	if (jobs == 0)
		return;
	Definition *definition = batch.definition;
	if (order.repair == Repair::requeue)
		count_finished(definition, Action::requeue, jobs, 0);
	if (order.repair == Repair::cancel) {
		count_finished(definition, Action::cancel, jobs, 0);
		note_archived(definition, GetCurrentTimestamp());
	}
	if (order.repair != Repair::requeue) {
		// In which states they were is not known.
		stats::TransactionCounters *counters = stats::counters_of(definition);
		if (counters != nullptr)
			counters->is_blind = true;
	}
	if (order.repair == Repair::requeue)
		claim::note_given_back(definition, 0);
	if (order.repair == Repair::change) {
		const bool is_later = order.run_at != nullptr && *order.run_at > GetCurrentTimestamp();
		claim::note_given_back(definition, is_later ? *order.run_at : 0);
	}
}

// Tells the caller how far the call has come, not too often.
static void
note_progress(const Order &order, Progress *progress)
{
	const int64 now = steady_now();
	if (now - progress->noticed < notice_time)
		return;
	progress->noticed = now;
	const int64 id = progress->next > 0 && progress->next < progress->count
						 ? progress->ids[progress->next - 1]
						 : progress->read;
	error::note_progress(progress->name, done_word(order.repair), progress->jobs, id,
						 progress->highest);
}

// Runs body in a transaction of its own, with SPI open, and in memory that is free after it.
template <typename Body>
static void
in_transaction(const Progress &progress, Body &&body)
{
	compat::check_client();
	CHECK_FOR_INTERRUPTS();
	MemoryContextReset(progress.round);
	EnsurePortalSnapshotExists();
	MemoryContext old = MemoryContextSwitchTo(progress.round);
	statement::with_spi(body);
	MemoryContextSwitchTo(old);
	SPI_commit();
}

// Leaves its processor to others for twice as long as the batch took, which may have waited for a lock.
static void
rest(int64 time)
{
	const int64 end = steady_now() + 2 * Min(time, batch_time);
	for (int64 left; (left = end - steady_now()) > 0;) {
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 static_cast<long>(left / 1000 + 1), WAIT_EVENT_PG_SLEEP);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

static void
repair_all(const Order &order, Progress *progress)
{
	in_transaction(*progress, [&] { begin_repair(order, progress); });
	int64 last_took = 0;
	while (!progress->is_read || progress->next < progress->count) {
		if (last_took > 0)
			rest(last_took);
		const int64 begun = steady_now();
		int64 jobs = 0;
		in_transaction(*progress, [&] {
			Batch batch = open_batch(order, progress);
			if (progress->next == progress->count)
				read_window(&batch, progress);
			if (progress->next < progress->count)
				jobs = write_batch(order, &batch, progress);
			tell(order, batch, jobs);
		});
		progress->jobs += jobs;
		note_progress(order, progress);
		last_took = jobs > 0 ? steady_now() - begun : 0;
	}
}

// Runs the procedure, whose argument of that number is batch_size, and which returns the number of
// jobs in a row of one column.
static Datum
run_repair(FunctionCallInfo fcinfo, Order *order, int batch_size)
{
	argument::check_not_null(fcinfo, 0, "queue");
	argument::check_not_null(fcinfo, 1, "condition");
	argument::check_not_null(fcinfo, 2, "arguments");
	order->queue = copy_text(fcinfo, 0);
	order->condition = text_to_cstring(PG_GETARG_TEXT_PP(1));
	order->arguments = PG_GETARG_JSONB_P_COPY(2);
	order->batch_size = argument::required_int32(fcinfo, batch_size, "batch_size");
	error::check_range("batch_size", order->batch_size, 1, most_jobs);
	if (!can_commit(fcinfo))
		error::cannot_commit_batches(order->procedure);
	order->search_path = statement::current_search_path();
	TupleDesc columns = result::row_type(fcinfo);
	BlessTupleDesc(columns);

	auto *progress = static_cast<Progress *>(palloc0(sizeof(Progress)));
	progress->round =
		AllocSetContextCreate(CurrentMemoryContext, "queue_ext repair", ALLOCSET_DEFAULT_SIZES);
	progress->read = PG_INT64_MIN;
	progress->chunk = first_chunk;
	progress->noticed = steady_now();
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	repair_all(*order, progress);
	SPI_finish();
	Datum jobs = Int64GetDatum(progress->jobs);
	bool is_null = false;
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(columns, &jobs, &is_null)));
}

// Of a repair without arguments of its own.
static Datum
run_plain_repair(FunctionCallInfo fcinfo, Repair repair, const char *procedure)
{
	Order order{};
	order.repair = repair;
	order.procedure = procedure;
	argument::check_may_write(procedure);
	return run_repair(fcinfo, &order, 3);
}

Datum
queue_ext_queue_requeue_where(PG_FUNCTION_ARGS)
{
	return run_plain_repair(fcinfo, Repair::requeue, "queue_requeue_where()");
}

Datum
queue_ext_queue_cancel_where(PG_FUNCTION_ARGS)
{
	return run_plain_repair(fcinfo, Repair::cancel, "queue_cancel_where()");
}

// Nothing is archived.
Datum
queue_ext_queue_delete_where(PG_FUNCTION_ARGS)
{
	return run_plain_repair(fcinfo, Repair::erase, "queue_delete_where()");
}

Datum
queue_ext_queue_change_where(PG_FUNCTION_ARGS)
{
	Order order{};
	order.repair = Repair::change;
	order.procedure = "queue_change_where()";
	argument::check_may_write(order.procedure);
	int16 priority = 0;
	TimestampTz run_at = 0;
	if (!PG_ARGISNULL(3)) {
		error::check_range("priority", PG_GETARG_INT32(3), PG_INT16_MIN, PG_INT16_MAX);
		priority = static_cast<int16>(PG_GETARG_INT32(3));
		order.priority = &priority;
	}
	if (!PG_ARGISNULL(4)) {
		run_at = PG_GETARG_TIMESTAMPTZ(4);
		order.run_at = &run_at;
	}
	if (order.priority == nullptr && order.run_at == nullptr)
		error::nothing_to_change();
	return run_repair(fcinfo, &order, 5);
}

} // namespace queue_ext::queue
