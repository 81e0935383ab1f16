// completion.hpp - how rows of an attached queue are completed without a statement.
//
// Invariant: a completion is direct only where the statement would do nothing but find the row by
// its key, compare, evaluate expressions, and write or delete the row: the conditions are those of a
// direct claim (compiled_claim.hpp), for on_complete. It lives as long as its definition.

#pragma once

#include "../postgres.hpp"

#include "../claim/compiled_claim.hpp"

namespace queue_ext::job {

// What the direct path knows of on_complete; incomplete where is_direct is false.
struct Completion
{
	MemoryContext context; // holds this struct and all it points to
	bool is_direct;
	bool deletes;         // on_complete is null
	bool has_foreign_key; // of columns that on_complete does not write
	bool fires_wake;      // the table has our trigger, which the statement would fire
	int column_count;     // of those that on_complete writes
	claim::ColumnValue *columns;
	row::Checks checks;
	Oid index; // of the receipt's key
	int key_count;
	AttrNumber *key_columns;
	ScanKeyData *keys; // without the values
	int fence_count;   // of the columns that on_claim wrote, in mode update
	AttrNumber *fence;
	ExprContext *evaluation; // one call at a time uses it (CompiledClaim::use)
};

// The definition's completion, made when first asked for. The table must be locked. Raises what
// compiling the fragments raises.
const Completion *completion_of(definition::Definition *definition);

} // namespace queue_ext::job
