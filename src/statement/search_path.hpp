// search_path.hpp - reading and writing SQL text the same way in every session.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::statement {

// Under this path, everything that is not PostgreSQL's own is written out with
// its schema.
constexpr const char *bare_search_path = "pg_catalog";

struct Setting
{
	const char *name;
	const char *value;
};

// Changes the setting until the current GUC nest level ends.
void set_locally(const Setting &setting);

// Sets all that the reading and writing of SQL text depends on, until the current
// GUC nest level ends: the path, with temporary objects last (they would come first
// otherwise: nobody's are to be meant), and what literals mean.
void set_reading_settings(const char *path);

// Runs body under these settings. On ERROR the transaction's end puts the old ones
// back.
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

// The schemas that the search path has now, as a setting: what "$user" means is
// settled, and temporary objects are left out. In the current context.
char *current_search_path();

// The schemas in which an unqualified queue is looked for, in the order in which PostgreSQL
// looks for a table: the session's temporary schema, if there is one, is in front, or where the
// path names pg_temp. Makes none. Returns how many there are, which may be more than fit.
int search_path_schemas(Oid *schemas, int max_schemas);

} // namespace queue_ext::statement
