// archive_clearing.hpp - completions clear what their queue's archive need not keep any longer.
//
// A call that has archived jobs notes that, if it is time to look, and outside a transaction block. The
// look comes as the last thing before its transaction commits: a slot whose jobs have all expired is
// truncated, or a batch of expired rows of one that has come round again is deleted. So the lock for that
// does not last longer than the commit, whatever the statement, the function or the pipeline still does
// after the call; it is not waited for; and what fails is rolled back by itself, and leaves the completion
// alone.
//
// All backends together look once in a period (definition/keep.hpp), or again a little later as long as
// there is more to do, or a slot was in use. Between that, a completion compares two numbers.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::queue {

// Notes that this transaction has archived jobs of the queue. Raises 53200.
void note_archived(definition::Definition *definition, TimestampTz now);

// Registers the callback for the end of transactions. Called once, by _PG_init.
void register_archive_clearing();

} // namespace queue_ext::queue
