// owner.hpp - who may change a queue: the owner of its table.

#pragma once

#include "../postgres.hpp"

#include "../compat.hpp"

namespace queue_ext::queue {

// Raises 42501 unless the current user owns the table.
inline void
check_owner(Oid table)
{
	if (!compat::owns_relation(table, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(table));
}

} // namespace queue_ext::queue
