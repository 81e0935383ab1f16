// insert.hpp - adding jobs to a managed queue unless they are there: lock, then look,
// then insert.
//
// Invariant: the look takes its snapshot after the locks were granted, at every
// isolation level, and the locks are held until the transaction ends. So of any number
// of callers one inserts, and the others see its job, or that it was rolled back.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "criteria.hpp"

namespace queue_ext::unique {

struct Outcome
{
	int64 id;
	bool has_id; // not when a trigger has swallowed the row
	bool is_inserted;
};

// Inserts those payloads that are not there, the first of equal ones. The arguments
// have the options of the new jobs. The queue's table must be locked. Raises what
// SELECT and INSERT raise, and what waiting for a lock does. Wants SPI open.
void insert_unique(definition::Definition *definition, const Criteria &criteria,
				   const Datum *payloads, int count, statement::Arguments arguments,
				   Outcome *outcomes);

} // namespace queue_ext::unique
