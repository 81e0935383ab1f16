// hold_table.hpp - what becomes of tables in which a session holds rows by advisory
// locks, which no lock on the table keeps as they are.
//
// A dropped table's rows are gone, and so are those of one that has been emptied by
// TRUNCATE. VACUUM FULL, CLUSTER and whatever else rewrites a table gives it a new file
// as well, and its rows stay. The difference is in pg_class.reltuples: with a new file the
// key's index is built anew, which counts the table's rows, but leaves a count that is
// unknown (-1, as TRUNCATE sets it) where there are none. So an index that was built anew
// while the count is unknown was built over no rows. Where that cannot be said (the rows
// have been counted by VACUUM or ANALYZE since, the table has been moved to another
// tablespace, which copies its files, or is partitioned) they count as held.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::claim {

// A table of which rows are held.
struct HoldTable
{
	HoldTable *next;
	Oid oid;
	int count;         // of holds
	bool is_changed;   // something may have happened to it
	bool is_looked_at; // because of that
};

// The files of a table and of the index that tells its rows apart.
struct Files
{
	Oid index; // InvalidOid: no telling, as new files may be those of a move
	Oid table_file;
	Oid index_file;
	Oid tablespace; // of the table
};

// The table's entry, with one hold more. Raises 53200 when there is no memory.
HoldTable *enter_table(Oid table);

// With one hold less. Never raises.
void leave_table(HoldTable *table);

// Has the table looked at again.
void mark_table(HoldTable *table);

// Whether any table may have changed since all were looked at. Those that have are to be
// looked at; until looked_at_tables() is called they are again, as an error may end the look.
bool take_changed_tables();

// They have been looked at. Never raises.
void looked_at_tables();

// The files as they are now. Some are 0 where there is no such table or index.
Files files_of(Oid table, Oid index);

// Whether the rows that were in those files are gone. Reads the catalogs.
bool are_rows_gone(Oid table, Files *files);

// Registers the callback. Called once, by _PG_init.
void register_hold_tables();

} // namespace queue_ext::claim
