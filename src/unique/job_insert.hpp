// job_insert.hpp - inserts jobs into a managed queue unless they exist: lock, look, insert.
//
// Invariant: the look takes its snapshot after the locks were granted, at every isolation level,
// and the locks are held until the end of the transaction. So of any number of callers one inserts
// the job, and the others find it, or see that the insert was rolled back.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "criteria.hpp"
#include "replace.hpp"

namespace queue_ext::unique {

// What became of one payload: the ID of its job, inserted or found.
struct Outcome
{
	int64 id;
	bool has_id; // false: a trigger suppressed the row
	bool is_inserted;
	bool is_changed; // the job that was found
};

// Inserts the payloads that have no duplicate; of equal payloads, the first. Where the conflict's rule is not to
// keep them, a duplicate that waits is changed; where all that are not dead or done are in the hands of workers, the
// payload is inserted, to be their successor; and of equal payloads it is the last. The arguments have the options of the
// new jobs. The queue's table must be locked in ROW EXCLUSIVE mode and SPI must be
// open. Takes the advisory locks of the keys and waits for them. Raises what SELECT, INSERT and
// waiting for a lock raise, and 22023 for a payload that is no object if keys of it are to be
// compared.
void insert_unique(definition::Definition *definition, const Criteria &criteria,
				   const Conflict &conflict, const Datum *payloads, int count,
				   statement::Arguments arguments, Outcome *outcomes);

} // namespace queue_ext::unique
