// request.hpp - what a caller asks of a claim, and where the claimed rows go.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../interval.hpp"
#include "../ring/kinds.hpp"

namespace queue_ext::claim {

// The arguments of a pop, common to all paths.
struct Request
{
	int max_jobs;
	TimestampTz call_time;
	const Interval *lease;    // null: the queue's
	const text *worker;       // may be null
	const ring::Kinds *kinds; // that it takes; null: all
	bool is_waiting;          // the backend waits if there is nothing to claim
	bool must_be_empty;       // an empty result says so of the queue, though the backend waits
	bool has_slept;           // it has, and its client may be gone meanwhile
	bool is_rolled_back;      // what the call writes is undone at once, so it must not write
	bool *is_chosen; // it was woken for a job, and has taken none yet (wait/sleep.hpp); may be null
};

// When a lease ends that begins at that time; lease: the request's. Raises 22008 if that is no timestamp any more.
inline TimestampTz
lease_end(const definition::Definition *definition, TimestampTz begin, const Interval *lease)
{
	return end_of_interval(begin, definition::lease_of(definition, lease));
}

struct Occurrences; // recurring.hpp

// A tuplestore, and the row type that it takes. Columns are matched by name.
struct Output
{
	Tuplestorestate *store;
	TupleDesc descriptor;
	Occurrences *occurrences; // of a managed queue: those that the claim has taken; set by claim()
};

// Puts the first count rows that the last statement returned into output. Raises 42804 if a column
// of the row type is not among theirs, or of another type.
void put_rows(uint64 count, const Output &output);

// The value of that column of a row of SPI_tuptable. False if it is null, or if there is no such
// column of type timestamptz.
bool get_time(HeapTuple row, const char *name, TimestampTz *time);

} // namespace queue_ext::claim
