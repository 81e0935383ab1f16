// archiving.hpp - the part of a statement that puts jobs into a queue's archive.

#pragma once

#include "../postgres.hpp"

#include "definition.hpp"

namespace queue_ext::definition {

// Returns the INSERT that archives the rows of source, which have the columns of the queue's table, in that state and with
// that column for their result; null: none. It has no RETURNING. A change of either table makes the definition, and so this text,
// invalid. Raises 55000 if there is no archive.
const char *archiving_text(const Definition *definition, const char *source, const char *state,
						   const char *result);

// Sets the slot for jobs that such a statement archives now, if the archive has slots.
void set_slot(const Definition *definition, TimestampTz now, statement::Arguments *arguments);

// That slot, a partition of the archive, which the caller has locked. InvalidOid where it has none for such jobs alone.
Oid find_slot(const Definition *definition, TimestampTz now);

} // namespace queue_ext::definition
