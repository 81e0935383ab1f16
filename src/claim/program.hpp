// program.hpp - a queue's claim, ready to be run without a statement.
//
// Invariant: a program is made only where a claim is nothing but reading a row,
// evaluating expressions and writing it: an ordinary table without children, rules
// or triggers on UPDATE, claim mode update, expressions of PostgreSQL's own
// functions alone (which do not change under a cached expression). It lives and
// dies with its definition.

#pragma once

#include "../postgres.hpp"

#include "../queue/definition.hpp"
#include "../queue/fragment.hpp"
#include "../row/plain.hpp"
#include "ring.hpp"

namespace queue_ext::claim {

struct ColumnValue
{
	AttrNumber number;
	ExprState *value;
	bool not_null;
};

struct Program
{
	bool is_direct; // false: the portable path has to do it

	ExprState *pending;
	int column_count;
	ColumnValue *columns;
	row::Checks checks;

	queue::Direction direction;
	int order_count;
	AttrNumber *order_columns;
	AttrNumber priority; // of a managed queue
	AttrNumber run_at;

	RingKey key;
	Ring *ring; // where it was last seen; null until asked for
};

// The definition's program, made when first asked for. The table must be locked.
const Program *program_of(queue::Definition *definition);

// The ring of the queue, made if there is none; null where claims are not direct.
Ring *ring_of(queue::Definition *definition);

} // namespace queue_ext::claim
