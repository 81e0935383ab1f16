// compiled.hpp - a compiled definition: its fragments as SQL and as expressions, and the key of its
// table.
//
// Invariant: a definition is compiled once, from the table as it is at that time, and the result
// lives as long as the definition. The statement of a claim and a claim without a statement come
// from the same parse analysis of the fragment.

#pragma once

#include "../postgres.hpp"

#include "../catalog/row_key.hpp"
#include "../catalog/key_advice.hpp"
#include "../statement/plan.hpp"
#include "definition.hpp"
#include "fragment.hpp"

namespace queue_ext::definition {

// All of it is in a memory context below the definition's.
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
	bool fails_for_good;      // whether on_fail reads "retry"
	bool keeps_progress;      // whether on_extend reads "new_progress"
	statement::Access access; // how a claim should find its rows

	// The fragments of a claim and of its completion as expressions.
	Node *condition;    // pending
	List *assignments;  // TargetEntry: on_claim
	Bitmapset *written; // their columns, offset as in pull_varattnos()
	List *completion;   // TargetEntry: on_complete
	int order_count;    // of order_by; 0 unless it consists of plain columns alone
	OrderColumn *order_columns;

	catalog::RowKey row_key;       // identifies a row
	catalog::RowKey receipt_key;   // identifies a receipt's row, unless it has a null there
	catalog::KeyAdvice key_advice; // if there is no receipt_key
};

static_assert(std::is_trivially_destructible_v<Compiled>);

// The compiled definition; compiles it on the first call. Raises what compile() raises. The queue's
// table must be locked.
const Compiled &compiled_of(Definition *definition);

// The key by which a receipt names its row; compiles the definition on the first call. Raises 55000 if
// the table has none, where the hint says how to give it one, and what compiled_of() raises. The queue's
// table must be locked.
const catalog::RowKey &receipt_key_of(Definition *definition);

// The column "attempt" of a managed queue's table. Raises 42804 if the table's owner has dropped it
// or given it another type.
AttrNumber attempt_column(const Definition *definition);

} // namespace queue_ext::definition
