// removed.hpp - what the statement that completes or cancels jobs returns of them for the statistics.
//
// The jobs are rows "t" of a DELETE, or of "finished" where they go to the archive, whose rows do not show
// their states: there each row that the statement returns has counts and extremes over all of them.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::queue {

// Additions to the list that the statement returns: each is empty, or begins with ", ".

// Of completed jobs: when a lease ends, and when a job would have died with it. death: an expression for the latter,
// where the row is not in the archive.
const char *lease_text(const definition::Definition *definition, const char *death);

// Of dead jobs, for their owner: the latter alone; nothing where the table has no leases.
const char *death_text(const definition::Definition *definition);

// Of cancelled jobs: in which states they were.
const char *states_text(const definition::Definition *definition);

// Whether the caller, who may have rights on some columns only, may have the states returned.
bool may_tell_states(definition::Definition *definition);

// Note what the statement has returned in SPI_tuptable. Of cancelled jobs whose states it has not
// returned nothing is known. note_completed() also notes for a rollback what was written. Raise 53200.
void note_late(definition::Definition *definition, TimestampTz now);
void note_completed(definition::Definition *definition, TimestampTz now);
void note_cancelled(definition::Definition *definition, TimestampTz now);

} // namespace queue_ext::queue
