// search_path.hpp - reading and writing SQL text the same way in every session.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::statement {

// Under this path ruleutils.c writes everything outside pg_catalog with its schema.
constexpr const char *bare_search_path = "pg_catalog";

// One GUC parameter and the value for it.
struct Setting
{
	const char *name;
	const char *value;
};

// Sets the parameter until the current GUC nest level ends. Raises what an invalid value raises.
void set_locally(const Setting &setting);

// Sets all parameters that the parsing and deparsing of SQL depend on, until the current GUC nest
// level ends: the search path, with pg_temp last (PostgreSQL would search it first otherwise, and
// find a temporary object of the same name), and the formats of literals.
void set_reading_settings(const char *path);

// Runs body under these settings. On ERROR the end of the subtransaction or transaction restores
// the old ones.
template <typename Body>
void
with_search_path(const char *path, Body &&body)
{
	static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Body>>);
	const int level = NewGUCNestLevel();
	set_reading_settings(path);
	body();
	AtEOXact_GUC(true, level);
}

// The schemas of the active search path as a setting: "$user" is resolved, and temporary schemas
// are left out. In the current context.
char *current_search_path();

// The schemas in which an unqualified queue is looked for, in the order in which PostgreSQL looks
// for a table: the session's temporary schema, if it exists, comes first, or where the path names
// pg_temp. Does not create it. Returns the number of schemas, which may be more than max_schemas.
int search_path_schemas(Oid *schemas, int max_schemas);

} // namespace queue_ext::statement
