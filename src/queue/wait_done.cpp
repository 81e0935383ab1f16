// wait_done.cpp - queue_wait_done: a procedure that sleeps until a job has ended. It commits before it sleeps, so
// that it holds no snapshot, as wait.cpp says.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../compat.hpp"
#include "../definition/open.hpp"
#include "../error.hpp"
#include "../result.hpp"
#include "../steady_time.hpp"
#include "../wait/ended.hpp"
#include "job_result.hpp"
#include "procedure.hpp"

namespace queue_ext::queue {

using wait::EndWait;

QUEUE_EXT_FUNCTION(queue_ext_queue_wait_done);

namespace {

// A job, and the queue that had it at the first look, which is then the only one whose jobs are looked at.
struct AwaitedJob
{
	const text *queue; // as the caller wrote it
	int64 id;
	Oid source; // invalid before the first look
	char name[NAMEDATALEN];
};

} // namespace

// Opens the queue; after the first look by its table, as the name may lead to another one by then. Raises 42704 if there is
// no such managed queue any more.
static definition::Definition *
open_same_queue(AwaitedJob *job)
{
	using definition::Use;
	if (!OidIsValid(job->source)) {
		definition::Definition *first =
			definition::open_managed_queue(job->queue, Use::read, "Ask its table.");
		job->source = first->source;
		strlcpy(job->name, first->name, sizeof(job->name));
		return first;
	}
	definition::Definition *definition =
		definition::open_queue_of_name(job->source, job->name, Use::read);
	if (definition == nullptr || !definition->is_managed)
		error::queue_ended(job->name);
	return definition;
}

// Whether nothing more becomes of a job: it is in none of the states of one that a worker may get, or has.
static bool
is_final(const char *state)
{
	return strcmp(state, "ready") != 0 && strcmp(state, "scheduled") != 0 &&
		   strcmp(state, "leased") != 0;
}

// Looks at the job, and copies state and result into the memory context. True if it has ended, or is not there.
static bool
look(AwaitedJob *job, EndWait *wait, MemoryContext result, Datum *values, bool *nulls)
{
	definition::Definition *definition = open_same_queue(job);
	before_look(wait, definition->source);
	Datum found[found_count];
	bool are_null[found_count];
	const bool is_there = find_result(definition, job->id, found, are_null);
	MemoryContext old = MemoryContextSwitchTo(result);
	nulls[0] = are_null[found_state];
	nulls[1] = are_null[found_result];
	values[0] = nulls[0] ? 0 : datumCopy(found[found_state], false, -1);
	values[1] = nulls[1] ? 0 : datumCopy(found[found_result], false, -1);
	MemoryContextSwitchTo(old);
	return !is_there || nulls[0] || is_final(TextDatumGetCString(values[0]));
}

static void
wait_for_end(AwaitedJob *job, EndWait *wait, Datum *values, bool *nulls)
{
	MemoryContext result = CurrentMemoryContext;
	MemoryContext round =
		AllocSetContextCreate(result, "queue_ext wait for end", ALLOCSET_DEFAULT_SIZES);
	bool has_ended = false;
	do {
		MemoryContextReset(round);
		SPI_commit();
		EnsurePortalSnapshotExists();
		CHECK_FOR_INTERRUPTS();
		MemoryContextSwitchTo(round);
		has_ended = look(job, wait, result, values, nulls);
		MemoryContextSwitchTo(result);
		SPI_commit();
	} while (!has_ended && sleep(wait));
	end_wait(wait);
}

Datum
queue_ext_queue_wait_done(PG_FUNCTION_ARGS)
{
	argument::check_not_null(fcinfo, 0, "queue");
	AwaitedJob job{copy_text(fcinfo, 0), argument::required_int64(fcinfo, 1, "id"), InvalidOid, ""};
	argument::check_not_null(fcinfo, 2, "wait");
	const Interval *interval = argument::optional_not_negative(fcinfo, 2, "wait");
	const TimestampTz begun = GetCurrentTimestamp();
	EndWait wait{};
	wait.until = steady_now() + (end_of_interval(begun, interval) - begun);
	if (!can_commit(fcinfo))
		error::cannot_commit("queue_wait_done()", "Call it outside a transaction block, or ask"
												  " queue_result() there.");
	TupleDesc columns = BlessTupleDesc(result::row_type(fcinfo));
	Datum values[2];
	bool nulls[2];
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	wait_for_end(&job, &wait, values, nulls);
	HeapTuple tuple = SPI_copytuple(heap_form_tuple(columns, values, nulls));
	SPI_finish();
	PG_RETURN_DATUM(HeapTupleGetDatum(tuple));
}

} // namespace queue_ext::queue
