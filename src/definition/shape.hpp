// shape.hpp - the layout of managed queues' tables: whether an existing table has it, and what the
// table lacks.

#pragma once

#include "../postgres.hpp"

#include "../statement/statement.hpp"
#include "managed.hpp"

namespace queue_ext::definition {

// Why the relation cannot be a managed queue's table, or its archive, as a sentence for an error's
// detail; null if it can. Reads the catalogs; takes no lock on the relation.
const char *fault_of_table(Oid table);
const char *fault_of_archive(Oid table);

// Why the open table cannot be a managed queue's table, as a sentence for an error's detail; null if it
// can. Looks at its descriptor alone, which for many tables is much faster.
const char *fault_of_table(Relation table);

// The layout of a managed queue's table: the second if it has all columns of that. Reads the catalogs; takes no lock.
Layout layout_of(Oid table);
Layout layout_of(Relation table); // open

// The columns of the second layout that both the table and its archive have, each behind a comma. In the current context.
// Reads the catalogs; takes no lock.
const char *shared_second_columns(Oid table, Oid archive);

// The same of what a job takes along to a dead queue, besides the columns of the first layout.
const char *shared_dead_columns(Oid table, Oid dead_queue);

// Whether the table, or archive, has the column of the second layout for the time of the last claim. Reads the catalogs;
// takes no lock.
bool has_claimed_at(Oid table);

// Whether the table has the column of the second layout that counts releases. Reads the catalogs; takes
// no lock.
bool counts_releases(Oid table);

// Whether the table has the column of the second layout for the kinds of its jobs. Reads the catalogs;
// takes no lock.
bool has_kind(Oid table);

// Whether the table has the column of the second layout for the progress of its jobs. Reads the catalogs; takes no lock.
bool has_progress(Oid table);

// Whether the table has the column of the second layout for the origin of its jobs. Reads the catalogs; takes no lock.
bool has_origin(Oid table);

// Whether the table has the column of the second layout for the expiry of its jobs. Reads the catalogs; takes no lock.
bool has_expires_at(Oid table);

// A column that the second layout has in addition.
struct AddedColumn
{
	const char *name;
	const char *definition; // for ALTER TABLE ... ADD COLUMN
	const char *model;      // the column whose privileges tell what roles may do with this one:
	AclMode like;           // these they have here if they have them there,
	AclMode of_writers;     // and these if they may UPDATE there,
	const char *beside;     // also on this column; or null
};

// Those of a table and those of an archive.
constexpr int added_table_column_count = 7;
constexpr int added_archive_column_count = 6;
extern const AddedColumn added_table_columns[added_table_column_count];
extern const AddedColumn added_archive_columns[added_archive_column_count];

// Whether the archive has the column for results. Reads the catalogs; takes no lock.
bool keeps_results(Oid archive);

// Whether the table, or the archive, lacks the column. Raises 55000 if it has a column of that name with another type.
bool lacks(Oid table, const AddedColumn &column);

// Raises 42809 or 0A000 for a table that cannot have a queue. The table must be locked; locks its
// partitions and children ACCESS SHARE until the end of the transaction.
void check_can_carry(Relation table);

// Raises 42703 or 42804 unless the name, the value of that argument, is null or empty, or a column of
// the table of type timestamptz. The table must be locked.
void check_age_column(const char *column, const char *argument, Relation table);

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

// Whether the relation is a table with the names of an archive's columns, whatever else it has.
bool is_like_archive(Oid table);

// Creates the archive table of the queue's table. Raises 42P07 where such a table exists, 42622
// where its name would be too long, 42P01 where it does not exist afterwards.
// With slots, unless jobs are kept for ever.
Oid make_archive(Oid table, const Interval &keep);

// Gives a table that was made for another one to the owner of that, who may not be the caller. Raises
// what ALTER TABLE raises: 42501 if that owner may not create tables in the schema.
void give_to_owner_of(Oid other, const statement::Named &table);

// Makes the slots, and the index, of an archive that is partitioned by slot. They get its owner.
void make_slots(Oid archive);

// Whether the archive is partitioned by slot. Reads the catalogs; takes no lock.
bool has_slots(Oid archive);

// An existing archive of the table that the caller owns; InvalidOid if there is none.
Oid find_archive(Oid table);

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
