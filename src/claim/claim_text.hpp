// claim_text.hpp - the statements that claim rows, as text and prepared.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "request.hpp"

namespace queue_ext::claim {

// The parameters of a claim.
statement::Arguments arguments_for(const definition::Definition *definition,
								   const Request &request);

// The row key of the row "t", as SQL.
const char *row_key(definition::Definition *definition);

// " and ..." so that rows that this session knows already are passed by.
const char *unknown_condition(definition::Definition *definition);

// The statement that reads these columns of the first max_jobs pending rows, in
// the queue's order. condition: "" or " and ...".
const char *read_text(definition::Definition *definition, const char *columns,
					  const char *condition, int max_jobs);

// The same, locking the rows and passing by those that are locked.
const char *lock_text(definition::Definition *definition, const char *columns,
					  const char *condition, int max_jobs);

// The statement with which a claim of max_jobs begins, in any mode.
const char *claim_text(definition::Definition *definition, int max_jobs);

// The statement that writes the claim into rows of a table without a key, by where they stand.
const char *write_located_text(definition::Definition *definition);

// Whether an index serves the queue's claims. Wants SPI open.
bool is_served(definition::Definition *definition);

// The prepared claim of the definition for so many jobs; the one unused for longest
// makes room. A copy, since a call within the statement may move it. Raises what
// prepare() raises. Wants SPI open.
statement::Statement claim_statement(definition::Definition *definition, int max_jobs);

} // namespace queue_ext::claim
