// rights.hpp - the rights to read and write a table without the executor.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::row {

// Whether an extension checks the permissions of statements, too: its hook expects a statement, and
// so is not called from here.
bool has_permission_hook();

// Whether the caller has all these rights on the whole table, and no extension checks statements:
// one that audits or restricts them (pgaudit, sepgsql) hooks the executor's permission checks. If
// false, a statement serves the call, and raises 42501 if a right is missing.
bool has_rights(Oid table, AclMode rights);

// Whether the caller has the right on the table or on each of these columns, and no extension checks
// statements. If false, a statement serves the call, and raises 42501 if the right is missing.
bool has_right_on(Oid table, AclMode right, const AttrNumber *columns, int count);

// Whether the caller may read the column. An extension that checks statements is not asked: the one that follows is
// checked.
bool may_read(Oid table, AttrNumber column);

// The same, of writing it by an UPDATE.
bool may_write(Oid table, AttrNumber column);

// Whether the caller may read all rows and columns. An extension that checks statements is not asked.
bool may_read_all(Oid table);

} // namespace queue_ext::row
