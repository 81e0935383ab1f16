// definition.hpp - what a queue is: a description of a table's pending rows.
//
// Invariant: a definition is a copy of its registry row, with the names of its
// tables as they were when it was made, and with the statements prepared for it.
// It is marked invalid as soon as any of that may have changed, and stays in
// memory until the end of the transaction, so whoever holds one may finish with
// it.

#pragma once

#include "../postgres.hpp"

#include "statement.hpp"

namespace queue_ext::queue {

// The SQL that says what the queue is. Null where the queue has none.
struct Fragments
{
	const char *pending;
	const char *order_by;
	const char *on_claim;
	const char *on_complete;
	const char *on_release;
	const char *on_fail;
	const char *on_extend;
};

// The statements a definition keeps prepared, besides its claims.
enum class Prepared {
	send,
	send_many,
	complete,
	complete_many,
	fail,
	fail_many,
	release,
	release_many,
	extend,
	extend_many,
	cancel,
	cancel_many,
	requeue,
	requeue_many,
};
constexpr int prepared_count = static_cast<int>(Prepared::requeue_many) + 1;

// A claim's statement holds the number of jobs as a constant, for the planner to
// see; workers rarely use more than a few different ones.
struct PreparedClaim
{
	int max_jobs;
	Statement statement;
};
constexpr int prepared_claim_count = 4;

struct Definition
{
	MemoryContext context; // holds this struct and all it points to
	Definition *next;      // in the list of all this backend has
	bool is_valid;

	const char *name;         // as stored: one part, not quoted
	Oid source;               // the table
	const char *source_name;  // qualified and quoted
	bool is_archived;         // finished jobs go to the archive
	Oid archive;              // the last one it had, or InvalidOid
	const char *archive_name; // likewise; null when there is no such table (any more)

	bool is_managed;
	bool is_paused;
	Fragments fragments;
	Interval lease;
	Interval backoff_base;
	Interval backoff_cap;
	int32 max_attempts;

	Statement prepared[prepared_count];
	PreparedClaim claims[prepared_claim_count]; // most recently made first
};

static_assert(std::is_trivially_destructible_v<Definition>);

} // namespace queue_ext::queue
