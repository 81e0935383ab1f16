// insert.hpp - adding jobs to a managed queue without a statement.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "job.hpp"

namespace queue_ext::claim {

// Whether the caller's jobs can be added so: the table is as queue_create made it, more
// or less, and the caller may write all of its columns.
bool can_insert_directly(definition::Definition *definition);
// The same for jobs with keys.
bool can_insert_keyed_directly(definition::Definition *definition);

// Adds the jobs, puts their ids into ids, and has them offered to the queue's ring when
// the transaction commits. The table must be locked (RowExclusiveLock). Raises what an
// INSERT raises.
void insert_directly(definition::Definition *definition, const NewJobs &jobs, int64 *ids);

} // namespace queue_ext::claim
