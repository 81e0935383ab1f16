// table_command.hpp - commands on tables of queues, which check that the name still means the table.

#pragma once

#include "../postgres.hpp"

#include "../statement/statement.hpp"

namespace queue_ext::definition {

// Runs a command, as run_command() does, whose text may name the table. Raises 42P01 if the name
// does not mean the table afterwards: an event trigger may have dropped or renamed the table, or
// another session its schema, while the command waited for its lock.
void run_command_on(const statement::Named &table, const char *text);

// Runs a statement that reads rows, as run_newest_command() does, whose text may name the table: it sees
// all that is committed when it begins, at every isolation level. Raises 42P01 if the name does not mean the
// table afterwards.
void run_newest_on(const statement::Named &table, const char *text);

// Drops the table. Raises 42P01 if it exists afterwards, since then the command has dropped
// another.
void drop_table(const statement::Named &table);

// Gives a table that was made for another one to the owner of that, who may not be the caller. Raises
// what ALTER TABLE raises: 42501 if that owner may not create tables in the schema.
void give_to_owner_of(Oid other, const statement::Named &table);

} // namespace queue_ext::definition
