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

} // namespace queue_ext::definition
