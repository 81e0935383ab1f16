// served.hpp - whether an index serves a queue's claims: by the plan that they have.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::claim {

// Whether claims read in the order, by an index that restricts the rows as far as one can. SPI must
// be connected, here and below. Raises what planning raises.
bool has_serving_index(definition::Definition *definition);

// An index may restrict the rows to many more than those pending. This is the number of rows read
// for a pending one, above which another index is worth it.
constexpr int most_excess = 10;

// The index that leads to more than most_excess rows for each one that has the conditions of
// "pending" on the row alone; InvalidOid if there is none. The planner's estimate is confirmed by
// the first rows of the index. Raises what reading the table raises.
Oid find_excessive_index(definition::Definition *definition);

} // namespace queue_ext::claim
