// row_index.hpp - whether an index serves the look of a rule (row_rule.hpp).
//
// It does if it begins with the rule's columns, in any order, under their collations,
// and has all rows that "among" means; or if it is unique over some of them. Columns
// that no B-tree can hold are left out.

#pragma once

#include "../postgres.hpp"

#include "row_rule.hpp"

namespace queue_ext::unique {

// The command for the index that is missing, in the current context; null where there
// is one, or can be none. The conjuncts are those of "among".
const char *missing_index(const RowRule *rule, Relation table, List *conjuncts);

// Warns of it (01000), unless this session has been warned of that table.
void warn_once(const RowRule *rule);

} // namespace queue_ext::unique
