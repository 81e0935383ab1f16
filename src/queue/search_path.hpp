// search_path.hpp - doing something under another search path.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::queue {

// Under this path, everything that is not PostgreSQL's own is written out with
// its schema.
constexpr const char *bare_search_path = "pg_catalog, pg_temp";

// Runs body under the path. On ERROR the transaction's end puts the old one back.
template <typename Body>
void
with_search_path(const char *path, Body &&body)
{
	static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Body>>);
	const int level = NewGUCNestLevel();
	(void) set_config_option("search_path", path, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true,
							 0, false);
	body();
	AtEOXact_GUC(true, level);
}

// The schemas that the search path has now, as a setting: what "$user" means is
// settled. In the current context.
char *current_search_path();

} // namespace queue_ext::queue
