// row_insert.hpp - adding rows to any table unless they are there: lock, then look,
// then insert, as insert.hpp does for jobs.
//
// Looking and inserting are statements of the caller's: privileges, row security,
// triggers and constraints are as for SELECT and INSERT.

#pragma once

#include "../postgres.hpp"

#include "row_rule.hpp"

namespace queue_ext::unique {

struct RowOutcome
{
	Datum row;    // of the table's type
	bool has_row; // not when a trigger has swallowed it
	bool is_inserted;
};

// Rows that were made with these columns.
struct NewRows
{
	TupleDesc columns;
	const Datum *rows;
	int count;
};

// Inserts those rows that are not there, the first of equal ones. What outcomes have is
// in SPI's memory. The table must be locked. Wants SPI open. Raises what SELECT and
// INSERT raise, what waiting for a lock does, and 42804 where the rows cannot be read any more.
void insert_unique_rows(RowRule *rule, const NewRows &rows, RowOutcome *outcomes);

} // namespace queue_ext::unique
