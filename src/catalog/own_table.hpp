// own_table.hpp - the tables of the extension itself, as the library expects them.
//
// The library and the SQL objects of a database may have different versions: a session loads the
// library once, CREATE EXTENSION and ALTER EXTENSION UPDATE make the objects. A table to which a
// newer version has added columns serves an older library; a table that lacks a column must not be
// read by attribute numbers.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::catalog {

// A column as the library expects it.
struct OwnColumn
{
	const char *name;
	Oid type;
	bool is_required; // not null
};

// Raises 55000 unless the first columns of the table are these; the hint names the command to run.
// The table must be locked.
void check_columns(Relation table, const OwnColumn *columns, int count);

// The OID of the registry (definition/registry.hpp). Raises 55000 where the extension is not created. Takes no
// lock on it.
Oid registry_oid();

// The name of the extension's schema, in the current context. Raises 55000 where the extension is
// not created.
const char *own_schema();

// The OID of the extension's relation of that name. Raises 55000 where the extension is not
// created, or is of a version without such a relation.
Oid own_relation(const char *name);

// The version of the extension's SQL objects in this database, in the current context; null if it is
// not created.
const char *installed_version();

// Has the relcache messages forget the registry's OID. Called once, by _PG_init.
void register_own_tables();

} // namespace queue_ext::catalog
