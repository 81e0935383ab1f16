// search_path.cpp - see search_path.hpp.

#include "../postgres.hpp"

#include "search_path.hpp"

namespace queue_ext::queue {

char *
current_search_path()
{
	StringInfoData path;
	initStringInfo(&path);
	ListCell *cell;
	foreach (cell, fetch_search_path(true)) {
		const char *schema = get_namespace_name(lfirst_oid(cell));
		if (schema != nullptr)
			appendStringInfo(&path, "%s%s", path.len > 0 ? ", " : "", quote_identifier(schema));
	}
	return path.data;
}

} // namespace queue_ext::queue
