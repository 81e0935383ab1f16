// queue_indexes.hpp - the indexes of managed queues' tables: which there are, and making those that are missing.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::definition {

// Whether an index's predicate is only IS NULL, or IS NOT NULL, on the column.
bool is_null_test(const List *predicate, AttrNumber column, NullTestType kind);
bool is_null_test(const Node *predicate, AttrNumber column, NullTestType kind); // null: false

// Whether it is only that and IS NULL on the other column, in either order.
bool are_null_tests(const List *predicate, AttrNumber column, NullTestType kind, AttrNumber absent);

// Creates the indexes that a managed queue's table should have and lacks: the primary key, the
// claim index, the index of unique inserts, and in the second layout that of dead jobs. Runs ordinary
// commands as the caller. Raises what they raise: 23505 for duplicate ids.
void make_missing_indexes(Oid table);

// The claim index of a managed queue's table, that of dead jobs, the one by kind that queue_create makes with kinds => true,
// and the one by expiry that it makes with on_expire; InvalidOid: there is none. Lock the table and its indexes ACCESS SHARE
// while they look.
Oid claim_index(Oid table);
Oid dead_index(Oid table);
Oid kind_index(Oid table);
Oid expiry_index(Oid table);

// Creates the index by kind, or drops it, unless that has been done. Locks the table and its indexes
// ACCESS SHARE while it looks, and runs ordinary commands as the caller. Raises what they raise, and what
// run_command_on() raises; drop_kind_index() also 42P01 if the index is still there.
void make_kind_index(Oid table);
void drop_kind_index(Oid table);

// Creates the index of dead jobs if the table lacks it; returns whether it did. Locks the table and its
// indexes ACCESS SHARE while it looks, and runs an ordinary command as the caller. Raises what that raises,
// and what run_command_on() raises.
bool make_missing_dead_index(Oid table);

// The same of the index by expiry, where the table has the column.
bool make_missing_expiry_index(Oid table);

} // namespace queue_ext::definition
