// tables.hpp - whether the rows are gone that a session holds by advisory locks, which do not
// keep their table from being dropped or changed.
//
// A dropped table's rows are gone, and so are those of a table that TRUNCATE has emptied. VACUUM
// FULL, CLUSTER and other rewrites also give a table a new relfilenode, but keep its rows.
// pg_class.reltuples shows the difference: with a new file the key's index is rebuilt, which counts
// the table's rows, but leaves an unknown count (-1, as TRUNCATE sets it) where there are none. So
// an index that was rebuilt while the count is unknown was built over no rows. Where that cannot be
// decided (VACUUM or ANALYZE has counted the rows since, the table has been moved to another
// tablespace, which copies its files, or is partitioned), the rows count as held.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::held {

// A table with held rows.
struct HeldTable
{
	HeldTable *next;
	Oid oid;
	int count;         // of held rows
	bool is_changed;   // invalidated since the last take_changed_tables()
	bool is_looked_at; // invalidated before that: to be looked at now
};

// The relfilenodes of a table and of the index of its row key.
struct Files
{
	Oid index; // InvalidOid: undecidable, as new files may be those of a move
	Oid table_file;
	Oid index_file;
	Oid tablespace; // of the table
};

// Returns the table's entry, with one held row more. Raises 53200 for want of memory.
HeldTable *enter_table(Oid table);

// Takes off one held row, and frees the entry with the last. Never raises.
void leave_table(HeldTable *table);

// Has the table looked at again.
void mark_table(HeldTable *table);

// Whether any table may have changed since all were looked at; sets is_looked_at of those, which
// they keep until looked_at_tables() is called: an error may interrupt the look-ups.
bool take_changed_tables();

// All changed tables have been looked at. Never raises.
void looked_at_tables();

// The current files; 0 where there is no such table or index. Reads the catalogs.
Files files_of(Oid table, Oid index);

// Whether the rows that were in those files are gone. After a move to another tablespace, sets
// files->index to InvalidOid. Reads the catalogs.
bool are_rows_gone(Oid table, Files *files);

// Calls visit for each table with held rows. Never raises, unless visit does.
void visit_held_tables(void (*visit)(Oid table));

// Listens to changes of relations. Called once, by _PG_init.
void register_held_tables();

} // namespace queue_ext::held
