// claim.hpp - taking jobs from a queue: the interface that every path of the
// claim keeps.
//
// Invariant: a row is handed out only by the transaction that won its claim, and
// as it is after the claim's write. Rows that others hold locked are passed by.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::claim {

struct Request
{
	int max_jobs;
	TimestampTz call_time;
	const Interval *lease; // null: the queue's
	const text *worker;    // may be null
};

// Where claimed rows go: a tuplestore, and the shape it wants them in. Columns are
// matched by name.
struct Output
{
	Tuplestorestate *store;
	TupleDesc descriptor;
};

// Claims up to request.max_jobs rows, in the queue's order, into output, by the path
// that queue_ext.claim_path says. The queue's table must be locked and SPI open.
// Returns how many. Raises what the executor raises.
uint64 claim(definition::Definition *definition, const Request &request, const Output &output);

// The portable path: generated statements, for every kind of table. It takes the row
// locks and writes the rows as UPDATE does, triggers and privileges included.
uint64 claim_portable(definition::Definition *definition, const Request &request,
					  const Output &output);

// Whether queue_ext.claim_path lets jobs be claimed, and added and removed, without
// statements.
bool is_direct_allowed();

// Defines the settings. Called once, by _PG_init.
void define_settings();

} // namespace queue_ext::claim
