// row_insert.hpp - inserts rows into any table unless they exist: lock, look, insert, as job_insert.hpp
// does for jobs.
//
// The look and the insert are statements run as the caller: privileges, row security, triggers and
// constraints apply as for SELECT and INSERT.

#pragma once

#include "../postgres.hpp"

#include "row_rule.hpp"

namespace queue_ext::unique {

// What became of one row.
struct RowOutcome
{
	Datum row;    // of the table's type, inserted or found
	bool has_row; // false: a trigger suppressed it
	bool is_inserted;
};

// Rows to insert, and the tuple descriptor that they were made with.
struct NewRows
{
	TupleDesc columns;
	const Datum *rows;
	int count;
};

// Inserts the rows that have no duplicate; of equal rows, the first. The outcomes must be zeroed;
// their rows are in SPI's memory context. The table must be locked in ROW EXCLUSIVE mode, the rule
// in use (rule_cache.hpp), and SPI open. Takes the advisory locks of the rows and waits for them.
// Raises what SELECT, INSERT and waiting for a lock raise, and 42804 if the rows cannot be read any
// more because the table's columns have changed.
void insert_unique_rows(RowRule *rule, const NewRows &rows, RowOutcome *outcomes);

} // namespace queue_ext::unique
