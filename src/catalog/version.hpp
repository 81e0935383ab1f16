// version.hpp - what changes when a table, or an expression, comes to mean something else: for digests of what was
// compiled of them.
//
// The tables need not be open; what is gone counts as nothing. Takes no lock but ACCESS SHARE on catalogs, while it reads.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::catalog {

// Adds an expression, or a list of them, to the input of a digest. The functions that it calls
// count as they are now.
void add_expression(StringInfo text, Node *flat);

// The relfilenode of a table or an index, and its tablespace; 0, with *tablespace as it was, if it is gone. tablespace may be null.
Oid file_of(Oid relation, Oid *tablespace);

// A digest of the versions of what the catalogs have of the table, its columns and its triggers.
uint64 table_version(Oid table);

} // namespace queue_ext::catalog
