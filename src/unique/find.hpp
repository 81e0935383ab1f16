// find.hpp - finds the jobs in a managed queue's table that have a given unique_key.
//
// Rows are read with the caller's privileges: SELECT is required, and row security policies apply.
// Where SELECT on the table is all there is to check, an index scan reads the rows, else a
// statement.

#pragma once

#include "../postgres.hpp"

#include "job_key.hpp"

namespace queue_ext::unique {

// The statements that find, add and change jobs, which are kept beside the definition.
enum class UniqueStatement {
	find,
	insert,
	insert_many,
	insert_kind, // adds a job with a kind
	insert_many_kind,
	insert_expiry, // one that expires
	insert_many_expiry,
	insert_kind_expiry,
	insert_many_kind_expiry,
	find_expired, // which of the jobs have expired
	replace,      // changes a job that waits
	replace_expiry,
	postpone,
	postpone_expiry,
};
constexpr int unique_statement_count = static_cast<int>(UniqueStatement::postpone_expiry) + 1;

// The statement, and what it does. Raises 53200.
definition::KeptStatement kept_for_unique(definition::Definition *definition,
										  UniqueStatement which);

// A job with the key that was looked up. One that has expired before a worker has started it has the state that its end gives
// it, whether it has been ended or not: dead or done.
struct FoundJob
{
	int64 id;
	State state;
	bool is_equal; // its values are equal, too
};

// The jobs found for one key.
struct Found
{
	FoundJob *jobs;
	int count;
	int capacity;
};

// Looks up each key and appends the jobs that have it to found[i], in the current memory context.
// The keys' locks must be held, so that the result stays true until the end of the transaction, and
// the queue's table must be locked. SPI must be open. Raises what a SELECT raises.
void find_jobs(definition::Definition *definition, const Criteria &criteria, const JobKey *keys,
			   int count, Found *found);

} // namespace queue_ext::unique
