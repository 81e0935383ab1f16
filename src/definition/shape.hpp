// shape.hpp - the layout of managed queues' tables: whether an existing table has it, and which columns the
// table lacks.

#pragma once

#include "../postgres.hpp"

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

// Whether the relation is a table with the names of an archive's columns, whatever else it has.
bool is_like_archive(Oid table);

// Whether the archive is partitioned by slot. Reads the catalogs; takes no lock.
bool has_slots(Oid archive);

} // namespace queue_ext::definition
