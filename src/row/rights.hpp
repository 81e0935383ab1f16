// rights.hpp - who may read and write a table without the executor.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::row {

// Whether the caller has all these rights on the whole table, and nobody else is to be
// asked: an extension that audits or restricts statements (pgaudit, sepgsql) does so in the
// executor's permission checks. Where it is false, a statement says what is missing, if
// anything.
bool has_rights(Oid table, AclMode rights);

// The same of one right on these columns, which the table's or each column's own gives.
bool has_right_on(Oid table, AclMode right, const AttrNumber *columns, int count);

} // namespace queue_ext::row
