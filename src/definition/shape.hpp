// shape.hpp - the shape of the tables of managed queues: whether a table that is there
// could be one, and what such a table lacks.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::definition {

// What keeps the relation from being a managed queue's table, or its archive, as a sentence
// for an error's detail; null if nothing does. Reads the catalogs; takes no lock.
const char *fault_of_table(Oid table);
const char *fault_of_archive(Oid table);

// Raises what queue_attach raises of tables that cannot carry a queue (42809, 0A000). The
// table must be locked; its partitions and children get locked in ACCESS SHARE mode.
void check_can_carry(Relation table);

// Raises 42P01 unless the relation, which had that name, is there still: an event trigger may
// have dropped it.
void check_is_there(Oid relation, const char *name);

// Runs a command on the table, as run_command() does, after which the table is there still:
// raises 42P01 otherwise.
void run_command_on(Oid table, const char *text);

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
