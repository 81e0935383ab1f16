// given_back.cpp - see given_back.hpp.

#include "../postgres.hpp"

#include "given_back.hpp"

#include "../definition/registry.hpp"
#include "../wake/written.hpp"
#include "compiled_claim.hpp"

namespace queue_ext::claim {

using ring::unknown_kind;
using wake::at_once;

// note_writes() is for a rollback: while the row was locked, claims may have passed it by.
void
note_given_back(definition::Definition *definition, TimestampTz due)
{
	if (definition->is_managed && compiled_claim_of(definition)->has_wake_trigger)
		return; // the trigger has fired
	stats::TransactionCounters *counters = stats::counters_of(definition);
	if (counters != nullptr)
		counters->is_blind = true;
	wake::note_writes(definition->source, at_once);
	if (due == 0)
		wake::note_wake(definition->source);
	else
		wake::note_due(definition->source, due, unknown_kind);
}

bool
note_neighbour(Oid table, const char *name)
{
	const bool is_any = definition::has_other_queue(table, name);
	if (is_any)
		wake::note_wake(table);
	return is_any;
}

void
note_death_of(Oid table, stats::TransactionCounters *counters, TimestampTz at)
{
	stats::note_death(counters, at);
	if (at != PG_INT64_MAX)
		wake::note_deadline(table, at);
}

void
count_sent(definition::Definition *definition, int64 counted, int64 inserted)
{
	const int64 by_trigger = stats::counted(definition, stats::Counter::sent) - counted;
	if (inserted > by_trigger)
		stats::count(definition, stats::Counter::sent, inserted - by_trigger);
}

} // namespace queue_ext::claim
