// wait_call.hpp - what the procedures have in common that sleep until there is a job.

#pragma once

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../interval.hpp"
#include "../result.hpp"
#include "../steady_time.hpp"
#include "../wait/sleep.hpp"
#include "pop_call.hpp"
#include "procedure.hpp"

namespace queue_ext::queue {

// Reads argument 1. Raises 22004, 22023, 22008.
inline wait::Wait
read_wait(FunctionCallInfo fcinfo, bool is_claiming)
{
	argument::check_not_null(fcinfo, 1, "wait");
	wait::Wait wait{};
	wait.is_claiming = is_claiming;
	const TimestampTz begun = GetCurrentTimestamp();
	const Interval *interval = argument::optional_not_negative(fcinfo, 1, "wait");
	wait.until = steady_now() + (end_of_interval(begun, interval) - begun);
	return wait;
}

// The request of a procedure that claims one job, from arguments 2 and 3, lease and worker, and that of the kinds. Raises
// what these do.
inline claim::Request
read_pop_wait(FunctionCallInfo fcinfo, int kinds)
{
	claim::Request request{};
	request.max_jobs = 1;
	request.is_waiting = true;
	request.lease = argument::optional_positive(fcinfo, 2, "lease");
	request.worker = copy_text(fcinfo, 3);
	request.kinds = argument_kinds(fcinfo, kinds);
	return request;
}

// For what a look needs, and is forgotten after it.
inline MemoryContext
create_round()
{
	return AllocSetContextCreate(CurrentMemoryContext, "queue_ext wait", ALLOCSET_DEFAULT_SIZES);
}

// Has look(round, result, columns) look for a job, and sleeps after each look in vain. It returns the procedure's row, with
// these columns, in the context `result`, or null; what it has in `round` is forgotten. Returns that row, or, when the time
// is over, one of nulls: the columns are arguments, too, as the result of a procedure has no other form. Raises what look()
// does, and what sleep() does.
template <typename Look>
Datum
pop_or_wait(FunctionCallInfo fcinfo, wait::Wait *wait, Look &&look)
{
	TupleDesc columns = result::row_type(fcinfo);
	BlessTupleDesc(columns);
	MemoryContext result = CurrentMemoryContext;
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	MemoryContext round = create_round();
	HeapTuple row = nullptr;
	// The claim shall be the only work of its transaction.
	if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
		SPI_commit();
	do {
		MemoryContextReset(round);
		EnsurePortalSnapshotExists();
		row = look(round, result, columns);
		if (row != nullptr)
			break;
		SPI_commit();
	} while (wait::sleep(wait));
	SPI_finish();
	if (row != nullptr)
		return heap_copy_tuple_as_datum(row, columns);
	return HeapTupleHeaderGetDatum(result::row_of_nulls(columns));
}

} // namespace queue_ext::queue
