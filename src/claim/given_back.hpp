// given_back.hpp - makes rows known to claims that functions of this extension have written by
// statements, or will write by claims of another queue, where the trigger (wake/trigger.hpp) does not.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../stats/transaction_counters.hpp"

namespace queue_ext::claim {

// Notes, unless the trigger does, that a job was given back; it will be claimable at due (0: at
// once). Raises what compiled_claim_of() raises, and 53200.
void note_given_back(definition::Definition *definition, TimestampTz due);

// Tells the other queues of the table that one of that name begins or has ended: claims, which fire no trigger, may make
// rows claimable for others, so these trust no sweep from before. Returns whether there are any. Raises 53200.
bool note_neighbour(Oid table, const char *name);

// Calls stats::note_death(); if that time has come when the transaction commits, the next claim is to look at the
// table, and count. Raises 53200.
void note_death_of(Oid table, stats::TransactionCounters *counters, TimestampTz at);

// Counts rows that a statement of ours has inserted, as far as the trigger has not: counted is what
// had been before it. Raises 53200.
void count_sent(definition::Definition *definition, int64 counted, int64 inserted);

} // namespace queue_ext::claim
