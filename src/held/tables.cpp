// tables.cpp - see tables.hpp.

#include "../postgres.hpp"

#include "tables.hpp"

#include "../catalog/relation_change.hpp"
#include "../catalog/version.hpp"
#include "../compat.hpp"

namespace queue_ext::held {

// The tables with held rows, and whether any is marked.
static HeldTable *tables = nullptr;
static bool any_changed = false;

// An invalid OID means all relations. Only marks, as it must not read catalogs.
static void
on_relation_change(Oid relation)
{
	for (HeldTable *table = tables; table != nullptr; table = table->next)
		if (!OidIsValid(relation) || table->oid == relation)
			mark_table(table);
}

void
register_held_tables()
{
	catalog::listen_to_relations(on_relation_change);
}

HeldTable *
enter_table(Oid oid)
{
	HeldTable *table = tables;
	while (table != nullptr && table->oid != oid)
		table = table->next;
	if (table == nullptr) {
		table =
			static_cast<HeldTable *>(MemoryContextAllocZero(TopMemoryContext, sizeof(HeldTable)));
		table->oid = oid;
		table->next = tables;
		tables = table;
	}
	table->count++;
	return table;
}

void
leave_table(HeldTable *table)
{
	if (--table->count > 0)
		return;
	HeldTable **link = &tables;
	while (*link != table)
		link = &(*link)->next;
	*link = table->next;
	pfree(table);
}

void
visit_held_tables(void (*visit)(Oid table))
{
	for (const HeldTable *table = tables; table != nullptr; table = table->next)
		visit(table->oid);
}

void
mark_table(HeldTable *table)
{
	table->is_changed = true;
	any_changed = true;
}

// Resets the marks before the caller reads catalogs, as that may process new invalidations.
bool
take_changed_tables()
{
	if (!any_changed)
		return false;
	for (HeldTable *table = tables; table != nullptr; table = table->next) {
		table->is_looked_at = table->is_looked_at || table->is_changed;
		table->is_changed = false;
	}
	return true;
}

void
looked_at_tables()
{
	any_changed = false;
	for (HeldTable *table = tables; table != nullptr; table = table->next) {
		table->is_looked_at = false;
		any_changed = any_changed || table->is_changed; // in the meantime
	}
}

// The table comes last, as its tablespace is the one that counts.
Files
files_of(Oid table, Oid index)
{
	Files files{};
	files.index = index;
	files.index_file = catalog::file_of(index, &files.tablespace);
	files.table_file = catalog::file_of(table, &files.tablespace);
	return files;
}

// Whether reltuples is unknown though building an index would have set it.
static bool
is_uncounted(HeapTuple table)
{
	return reinterpret_cast<Form_pg_class>(GETSTRUCT(table))->reltuples < 0 &&
		   compat::do_indexes_count(table);
}

bool
are_rows_gone(Oid table, Files *files)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	if (!HeapTupleIsValid(tuple))
		return true;
	const bool may_be_empty = is_uncounted(tuple);
	ReleaseSysCache(tuple);
	const Files now = files_of(table, files->index);
	if (now.tablespace != files->tablespace)
		files->index = InvalidOid;
	return may_be_empty && OidIsValid(now.index_file) && OidIsValid(files->index) &&
		   now.index_file != files->index_file && now.table_file != files->table_file;
}

} // namespace queue_ext::held
