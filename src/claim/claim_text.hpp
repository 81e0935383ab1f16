// claim_text.hpp - the statements that claim rows: their texts, and prepared.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "request.hpp"

namespace queue_ext::claim {

// The arguments of a claim's statements and expressions.
statement::Arguments arguments_for(const definition::Definition *definition,
								   const Request &request);

// The row key of the row "t", as SQL.
const char *row_key(definition::Definition *definition);

// The row "t" as one value of the table's row type, as SQL: "t" alone could be a column of that name.
const char *whole_row(const definition::Definition *definition);

// The condition, beginning with " and ", that leaves out rows that this session must pass by
// (is_known()).
const char *unknown_condition(definition::Definition *definition);

// The statement that reads these columns of the first max_jobs pending rows, in the queue's order, but for jobs that have
// expired.
// condition: "", or beginning with " and ".
const char *read_text(definition::Definition *definition, const char *columns,
					  const char *condition, int max_jobs);

// The lock of FOR that a claim takes, as strong as the one of its own update, which then waits for
// no other.
const char *lock_strength(definition::Definition *definition);

// The statement that reads these columns of the first max_jobs pending rows that are not locked, in the
// queue's order, and locks them. condition: "", or beginning with " and ".
const char *lock_text(definition::Definition *definition, const char *columns,
					  const char *condition, int max_jobs);

// The column that the claim of a managed queue in mode update also returns: the job's leased_until
// before it.
constexpr const char *former_lease = "queue_ext_former_lease";

// The statement with which a claim of max_jobs begins, in any mode.
const char *claim_text(definition::Definition *definition, int max_jobs, ring::KindForm form);

// The statement that writes the claim into rows of a table without a key, by their TIDs.
const char *write_located_text(definition::Definition *definition);

// The definition's prepared statement for claims of so many jobs, in that form; it replaces the least recently
// used one of another number. Returns a copy, since a nested call may move the original. Raises
// what prepare() raises. SPI must be connected.
statement::Statement claim_statement(definition::Definition *definition, int max_jobs,
									 ring::KindForm form);

} // namespace queue_ext::claim
