// rule_cache.hpp - the rules for unique rows that a backend keeps (row_rule.hpp).

#pragma once

#include "../postgres.hpp"

#include "row_rule.hpp"

namespace queue_ext::unique {

// The caller's arguments.
struct RowChoice
{
	Oid table;
	ArrayType *unique_by;
	const char *among; // or null
};

// Returns the rule for the choice. The table must be locked. Raises 22004 for a null name, 42703
// for a missing column, 42883 for a column whose type has no equality, and what the parser raises
// for "among". Warns (01000) if no index supports the duplicate check, once per table and backend.
RowRule *rule_for(const RowChoice &choice);

// Returns the root of the partition tree that the table is in, or the table itself if it is in none.
// Reads the catalogs.
Oid root_of(Oid table);

// Between these calls the rule and its statements stay in memory. Calls may nest: a trigger may
// insert unique rows, too. After an error in between, the end of the transaction does what
// unpin_rule() does.
void pin_rule(RowRule *rule);
void unpin_rule(RowRule *rule);

// Registers the callback at the end of transactions. Called once, by _PG_init.
void register_rules();

} // namespace queue_ext::unique
