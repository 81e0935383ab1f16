// own_update.cpp - see own_update.hpp.

#include "../postgres.hpp"

#include "own_update.hpp"

namespace queue_ext::claim {

// The innermost statement of a claim that is running.
static OwnUpdate *innermost = nullptr;

void
begin_own_update(OwnUpdate *update, Oid table)
{
	*update = {innermost, table, 0, false};
	innermost = update;
}

void
end_own_update(const OwnUpdate *update)
{
	innermost = update->outer;
}

bool
is_own_update(Oid table, bool is_per_row)
{
	OwnUpdate *update = innermost;
	if (update == nullptr || update->table != table)
		return false;
	update->is_per_row = is_per_row;
	update->fired++;
	return true;
}

} // namespace queue_ext::claim
