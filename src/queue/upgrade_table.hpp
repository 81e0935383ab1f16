// upgrade_table.hpp - brings a table of the first layout, or its archive, to the second, and gives an archive slots
// (definition/keep.hpp).

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../statement/statement.hpp"

namespace queue_ext::queue {

// Adds the columns that the second layout has in addition and the table lacks, by ordinary commands as
// the caller, and returns whether there were any. Roles with privileges on single columns get those
// that they need on the new ones. Locks the table ACCESS EXCLUSIVE if it lacks a column. Raises 55000
// if it has a column of such a name with another type.
bool add_missing_columns(const statement::Named &table);

// Adds the columns that the second layout of an archive has in addition and this one lacks, such as that
// for results, by ordinary commands as the caller, and returns whether there were any. Roles with privileges
// on single columns get those that they need on the new ones. Locks the archive ACCESS EXCLUSIVE if it lacks
// a column. Raises 55000 if it has a column of such a name with another type.
bool add_missing_archive_columns(const statement::Named &archive);

// Whether the archive of a queue that does not keep jobs for ever is a plain table, which can be made into
// one with slots: it has no triggers, rules, policies or children, is in no publication by its name, and has
// no column "slot".
bool can_get_slots(const definition::Definition *definition);

// Makes a partitioned table of the archive's name, with its columns, defaults, checks, owner and privileges,
// moves the rows there that are not past their keep, also those that the transaction's snapshot does not
// show, and drops the plain table. Returns the new one. Runs ordinary commands as the caller, who must own
// both tables, and moves the rows as their owner. Locks the queue's table in SHARE mode, so that no job is
// archived meanwhile, and the archive ACCESS EXCLUSIVE. Raises what the commands raise: 2BP01 if a view
// names the archive.
Oid give_slots(const definition::Definition *definition);

} // namespace queue_ext::queue
