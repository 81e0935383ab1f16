// own_table.hpp - the tables of the extension itself, as the library expects them.
//
// The library of a session and the SQL objects of a database come separately: the library
// when the session loads it, the objects by CREATE EXTENSION and ALTER EXTENSION UPDATE. A
// table that a newer version has extended at its end is fine for an older library; what
// lacks a column must not be read by numbers.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::catalog {

struct OwnColumn
{
	const char *name;
	Oid type;
	bool is_required; // not null
};

// Raises 55000 unless the table begins with these columns; the hint says what to run. The
// table must be locked.
void check_columns(Relation table, const OwnColumn *columns, int count);

// The OID of the registry (registry.hpp). Raises 55000 where the extension is not created.
Oid registry_oid();

// The name of the extension's schema, likewise.
const char *own_schema();

// The extension's relation of that name. Raises 55000 where the extension is not created,
// or is of a version that has no such relation.
Oid own_relation(const char *name);

// Registers the callback that forgets the registry's OID. Called once, by _PG_init.
void register_own_tables();

} // namespace queue_ext::catalog
