// output.hpp - where claimed rows go.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::claim {

// A tuplestore, and the shape it wants the rows in. Columns are matched by name.
struct Output
{
	Tuplestorestate *store;
	TupleDesc descriptor;
};

// Hands on the rows that the last statement returned.
void put_rows(uint64 count, const Output &output);

} // namespace queue_ext::claim
