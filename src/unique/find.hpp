// find.hpp - the jobs in a managed queue's table that came under a key.
//
// The rows are read as the caller: without SELECT on the table there is an error, and
// row security hides what it hides. Where nothing but SELECT is to be checked, they are
// read from the index at once, else by a statement.

#pragma once

#include "../postgres.hpp"

#include "job_key.hpp"

namespace queue_ext::unique {

// A job that was found by its key.
struct FoundJob
{
	int64 id;
	State state;
	bool is_equal; // in its values, too
};

// What came of looking for one key.
struct Found
{
	FoundJob *jobs;
	int count;
	int capacity;
};

// Looks for each key, and puts what was found into found[i], in the current context.
// The locks must have been taken before: only then does what is found stay true. The
// queue's table must be locked. Wants SPI open. Raises what SELECT raises.
void find_jobs(definition::Definition *definition, const Criteria &criteria, const JobKey *keys,
			   int count, Found *found);

} // namespace queue_ext::unique
