// insert.hpp - sending jobs to a managed queue without a statement.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "job.hpp"

namespace queue_ext::job {

// Whether the caller's jobs can be sent this way: the table is in essence as queue_create made it,
// and the caller has the rights that an INSERT needs.
bool can_insert_directly(definition::Definition *definition, const NewJobs &jobs);

// Inserts the jobs, puts their ids into ids, and notes them to be offered to the queue's ring when
// the transaction commits. The table must be locked (ROW EXCLUSIVE). Raises what an INSERT raises.
void insert_directly(definition::Definition *definition, const NewJobs &jobs, int64 *ids);

} // namespace queue_ext::job
