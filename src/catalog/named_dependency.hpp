// named_dependency.hpp - dependencies of a cached object that also has SQL text, with the names of
// objects: a new name or schema makes it invalid, too.
//
// All functions are called within make_dependent() (dependency.hpp), and raise what
// depend_on_object() raises.

#pragma once

#include "../postgres.hpp"

#include "dependency.hpp"

namespace queue_ext::catalog {

// Records a dependency on the relation and on its schema.
void depend_on_table(Dependent *dependent, Oid table);

// Records a dependency on the operator and on its schema.
void depend_on_operator(Dependent *dependent, Oid object);

// Records dependencies on all objects that the expression, or a list of expressions, names:
// functions, operators, types, collations, tables and their schemas.
void depend_on_expression(Dependent *dependent, Node *expression);

// Records dependencies on all objects that the table's CHECK constraints name: functions, operators,
// types, collations, tables and their schemas. The table must be open.
void depend_on_checks(Dependent *dependent, Relation table);

} // namespace queue_ext::catalog
