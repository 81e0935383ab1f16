// rule_cache.hpp - the unique rules that a backend has at hand (row_rule.hpp).

#pragma once

#include "../postgres.hpp"

#include "row_rule.hpp"

namespace queue_ext::unique {

// What the caller gave.
struct RowChoice
{
	Oid table;
	ArrayType *unique_by;
	const char *among; // or null
};

// The rule for that choice. The table must be locked. Raises 22004, 42703 for a column
// that is not there, 42883 for one that cannot be compared, and for "among" what the
// parser raises. May warn (01000) that no index supports it, once for each table.
RowRule *rule_for(const RowChoice &choice);

// Between these the rule and its statements stay in memory. Calls may nest: a trigger
// may insert unique rows, too.
void begin_use(RowRule *rule);
void end_use(RowRule *rule);

// Registers the callback that ends all use. Called once, by _PG_init.
void register_rules();

} // namespace queue_ext::unique
