// compiled.hpp - a definition that can be run: its fragments as SQL and as expressions, and
// what tells the rows of its table apart.
//
// Invariant: it is made once for a definition, from the table as it is then, and lives as
// long. What a claim's statement says and what a claim without a statement evaluates come of
// the same reading of the fragment.

#pragma once

#include "../postgres.hpp"

#include "../catalog/row_key.hpp"
#include "../catalog/key_advice.hpp"
#include "../statement/plan.hpp"
#include "definition.hpp"
#include "fragment.hpp"

namespace queue_ext::definition {

struct Compiled
{
	// The fragments as SQL for statements. Null where the queue has none.
	const char *pending;
	const char *order_by;
	const char *on_claim;
	const char *on_complete;
	const char *on_release;
	const char *on_fail;
	const char *on_extend;
	statement::Access access; // how a claim should find its rows

	// Those of a claim as expressions.
	Node *condition;     // pending
	List *assignments;   // TargetEntry: on_claim
	Bitmapset *written;  // the columns of them, as pull_varattnos() counts them
	Direction direction; // of order_by
	List *order_columns; // the columns' numbers, where it is not mixed

	catalog::RowKey row_key;       // what tells one row from another
	catalog::RowKey receipt_key;   // what a receipt names its row by; a null there names none
	catalog::KeyAdvice key_advice; // where there is no receipt_key
};

static_assert(std::is_trivially_destructible_v<Compiled>);

// The definition, compiled when first asked for. Raises what compile() raises. The queue's
// table must be locked.
const Compiled &compiled_of(Definition *definition);

} // namespace queue_ext::definition
