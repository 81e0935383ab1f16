// compiled_claim.hpp - a queue's claim, ready to be run without a statement.
//
// Invariant: a compiled claim is made only where a claim is nothing but reading a row,
// evaluating expressions and writing it or locking it: an ordinary table without
// children or rules, on which no trigger fires for what a claim writes, expressions of
// PostgreSQL's own functions alone (which do not change under a cached expression).
// The same holds for what adds a job to a managed queue and what removes it. Code of the
// user's may run nevertheless (row/use.hpp), so one call at a time evaluates them. A
// compiled claim lives and dies with its definition.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../definition/fragment.hpp"
#include "../row/plain.hpp"
#include "../row/use.hpp"
#include "cursor.hpp"
#include "ring.hpp"

namespace queue_ext::claim {

struct ColumnValue
{
	AttrNumber number;
	ExprState *value;
	bool not_null;
};

struct CompiledClaim
{
	MemoryContext context; // holds this struct and all it points to
	bool is_direct;        // claims; false: the portable path has to do it
	bool can_insert;       // jobs of a managed queue
	bool can_remove;
	bool has_wake_trigger; // on the table (wake.hpp)

	ExprState *pending;
	ExprState *row_key; // as text, in the modes that lock
	int column_count;   // what a claim writes
	ColumnValue *columns;
	Bitmapset *written;   // these columns
	bool has_foreign_key; // of other columns, or it would not be direct
	row::Checks checks;
	int default_count; // what a new job's other columns have
	ColumnValue *defaults;
	bool is_timeless; // pending depends on nothing but the row

	definition::Direction direction;
	int order_count; // 0: there is no cursor
	AttrNumber *order_columns;
	cursor::Column *cursor_columns; // how their values stand in a cursor
	// Of a managed queue.
	AttrNumber id;
	AttrNumber attempt;
	AttrNumber leased_until;
	AttrNumber priority;
	AttrNumber run_at;
	AttrNumber max_attempts;
	AttrNumber payload;
	AttrNumber unique_key; // InvalidAttrNumber: the user has changed it

	row::Use use; // of the expressions
	RingKey key;
	Ring *ring; // where it was last seen; null until asked for
};

// The definition's compiled claim, made when first asked for. The table must be locked.
const CompiledClaim *compiled_claim_of(definition::Definition *definition);

// The ring of the queue, made if there is none; null where claims are not direct.
Ring *ring_of(definition::Definition *definition);

} // namespace queue_ext::claim
