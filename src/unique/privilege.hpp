// privilege.hpp - what a caller may do.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::unique {

// Raises 42501 where an INSERT would, also for a job that is there already.
inline void
check_may_insert(Oid source)
{
	const Oid user = GetUserId();
	if (pg_class_aclcheck(source, user, ACL_INSERT) != ACLCHECK_OK &&
		pg_attribute_aclcheck_all(source, user, ACL_INSERT, ACLMASK_ANY) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(source));
}

} // namespace queue_ext::unique
