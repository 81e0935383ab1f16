// complete_row.hpp - completing rows of an attached queue without a statement.
//
// Invariant: a completion is direct only where the statement would do nothing but find the row by
// its key, compare, evaluate expressions, and write or delete the row: the conditions are those of a
// direct claim (claim/compiled_claim.hpp), for on_complete. It lives as long as its definition.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../statement/row_type.hpp"

namespace queue_ext::job {

// Whether the caller's rows can be completed this way.
bool can_complete_directly(definition::Definition *definition);

// Returns the row key of a receipt's row, in the lock modes; null if it has none. In the current
// context. Raises what its expression raises.
char *row_key_of_receipt(definition::Definition *definition, const statement::Row &job);

// What has come of a completion.
enum class Completed {
	done,
	stale,        // the receipt is not good any more
	by_statement, // this row needs a statement
};

// Finds the row by the receipt's key and writes on_complete into it, or deletes it. In mode update
// the columns that the claim wrote must still be as in the receipt; in the others the caller has
// checked that this session holds the row. Waits for a transaction that has the row locked, as a
// statement does, and works on the newest committed rows at every isolation level. The table must be
// locked (ROW EXCLUSIVE). Raises what the executor raises.
Completed complete_directly(definition::Definition *definition, const statement::Row &job,
							const statement::Arguments &arguments);

} // namespace queue_ext::job
