// look.hpp - looks at a queue's table: what the statistics learn when ready rows are read.
//
// Invariant: after a look the marks of the priorities that it covers are those of the rows that it
// has read, and of what commits have told since it began: a job that became ready meanwhile may not
// be among the rows, and one that is may have been claimed.

#pragma once

#include "../postgres.hpp"

#include "transaction_counters.hpp"

namespace queue_ext::stats {

// A look that has begun.
struct LookBegun
{
	Place place; // none: nothing is to be told
	uint64 number;
	uint64 changes;
};

// What it has read: all that was ready from one priority to another.
struct Look
{
	Marks found;
	bool is_from_head; // else behind a row of that priority
	int16 from;
	bool is_to_end; // else up to a row of that priority, which has been ready since then
	int16 to;
	TimestampTz to_since;
	bool is_clean;     // nothing stands in the ring but what it has read
	TimestampTz as_of; // the time by which rows were judged ready
	bool is_told;      // all that becomes ready from then on will be noted
	bool is_counted;   // nothing was ready, and the rest was counted
	int64 scheduled;
	TimestampTz run_at; // of the first of these; PG_INT64_MAX: there is none
	int64 expired;      // not ended yet: they count as ready
	bool knows_leased;
	int64 leased;
	Clock due; // of all these
};

// Whether the queue has statistics that are not exact, which a look may make. Reads a hint without the spinlock.
bool is_unsure(const definition::Definition *definition, TimestampTz now);

// Whether a look that finds nothing ready is to count the rest, however many there are: where the numbers are not
// exact; where there are leases, with which a job may have died unnoticed; and once a minute, as rows that plain SQL
// removes are not noticed either. As is_unsure().
bool is_to_count(const definition::Definition *definition, TimestampTz now);

// Begins a look, before it takes its snapshot. Takes the entry's spinlock. Raises what place_of()
// raises.
LookBegun begin_look(definition::Definition *definition);

// Ends it. Another that has begun since then is told instead. counters: of the transaction, if that has written, and so
// does not see what others see; else null. Never raises.
void finish_look(const LookBegun &begun, const Look &look, TransactionCounters *counters);

} // namespace queue_ext::stats
