// output.hpp - where claimed rows go.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::claim {

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
