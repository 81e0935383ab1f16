// shape.hpp - the shape of the tables of managed queues: whether a table that is there
// could be one, and what such a table lacks.

#pragma once

#include "../postgres.hpp"

#include "../statement/statement.hpp"

namespace queue_ext::definition {

// What keeps the relation from being a managed queue's table, or its archive, as a sentence
// for an error's detail; null if nothing does. Reads the catalogs; takes no lock.
const char *fault_of_table(Oid table);
const char *fault_of_archive(Oid table);

// Raises what queue_attach raises of tables that cannot carry a queue (42809, 0A000). The
// table must be locked; its partitions and children get locked in ACCESS SHARE mode.
void check_can_carry(Relation table);

// Runs a command as run_command() does, which may name the table so. Raises 42P01 if the name
// means another afterwards, or none: an event trigger may have dropped or renamed the table, or
// somebody its schema, while the command was waiting for it.
void run_command_on(const statement::Named &table, const char *text);

// The same for a command after which the table is not there. Raises 42P01 if it is.
void drop_table(const statement::Named &table);

// Makes the table that finished jobs of the queue go to. Raises 42P07 where there is such a
// table, 42622 where its name would be too long, 42P01 where it is gone at once.
Oid make_archive(Oid table);

// The archive that the table has had, if there is one of the caller's; or InvalidOid.
Oid find_archive(Oid table);

// Whether an index's predicate is nothing but that the column is null, or is not.
bool is_null_test(const List *predicate, AttrNumber column, NullTestType kind);

// Makes what a managed queue's table should have besides its columns and has not: the
// primary key, the index of claims, the index of unique inserts. By ordinary commands, as
// the caller. Raises what they raise: 23505 where ids are there twice.
void make_missing_indexes(Oid table);

} // namespace queue_ext::definition
