// upgrade_table.hpp - brings a table of the first layout, or its archive, to the second.

#pragma once

#include "../postgres.hpp"

#include "../statement/statement.hpp"

namespace queue_ext::definition {

// Adds the columns that the second layout has in addition and the table lacks, by ordinary commands as
// the caller, and returns whether there were any. Roles with privileges on single columns get those
// that they need on the new ones. Locks the table ACCESS EXCLUSIVE if it lacks a column. Raises 55000
// if it has a column of such a name with another type.
bool add_missing_columns(const statement::Named &table);

// Grants to one role on the table, or on its column of that name, what the item has. It may be of a role that
// has been dropped meanwhile, and then means nobody.
void grant_like(const statement::Named &table, const char *column, const AclItem &item);

// Returns the column's privileges, or null if it has none of its own. In the current context.
Acl *column_privileges(Oid table, const char *column);

// Likewise, of an archive, which has a column for results, too.
bool add_missing_archive_columns(const statement::Named &archive);

} // namespace queue_ext::definition
