// named_dependency.hpp - what a thing that is cached was made from, where it also has the names
// of that in a text of SQL: it depends on these, too.
//
// All are called within make_dependent() (dependency.hpp).

#pragma once

#include "../postgres.hpp"

#include "dependency.hpp"

namespace queue_ext::catalog {

// On the relation, and on the schema that it is in.
void depend_on_table(Dependent *dependent, Oid table);

// On an operator, and on its schema.
void depend_on_operator(Dependent *dependent, Oid object);

// On all that the expression names, or a list of them: functions, operators, types,
// collations, tables and their schemas.
void depend_on_expression(Dependent *dependent, Node *expression);

} // namespace queue_ext::catalog
