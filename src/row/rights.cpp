// rights.cpp - see rights.hpp.

#include "../postgres.hpp"

#include "rights.hpp"

namespace queue_ext::row {

bool
has_rights(Oid table, AclMode rights)
{
	// Its hook is not called from here: what it expects to be under way is a statement.
	return ExecutorCheckPerms_hook == nullptr &&
		   pg_class_aclmask(table, GetUserId(), rights, ACLMASK_ALL) == rights;
}

} // namespace queue_ext::row
