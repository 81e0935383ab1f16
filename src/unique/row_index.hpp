// row_index.hpp - whether an index supports the duplicate check of a rule (row_rule.hpp).
//
// An index does if it begins with the rule's columns, in any order, under their collations, and its
// predicate, if any, follows from "among" and from the columns being not null. So does a unique
// index over some of the columns. Columns that no B-tree can hold are left out.

#pragma once

#include "../postgres.hpp"

#include "row_rule.hpp"

namespace queue_ext::unique {

// Returns the CREATE INDEX command for an index that is missing, in the current memory context;
// null if an index supports the duplicate check, or if none can. The conjuncts are those of
// "among". The table must be locked.
const char *missing_index(const RowRule *rule, Relation table, List *conjuncts);

// Warns (01000) if the rule lacks an index, once per table and backend.
void warn_once(const RowRule *rule);

} // namespace queue_ext::unique
