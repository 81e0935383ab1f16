// rights.cpp - see rights.hpp.

#include "../postgres.hpp"

#include "rights.hpp"

namespace queue_ext::row {

bool
has_permission_hook()
{
	return ExecutorCheckPerms_hook != nullptr;
}

// Row security is not considered: a table with policies is not plain.
bool
has_rights(Oid table, AclMode rights)
{
	return !has_permission_hook() &&
		   pg_class_aclmask(table, GetUserId(), rights, ACLMASK_ALL) == rights;
}

// A right on the table suffices, as in ExecCheckPermissions().
static bool
is_granted(Oid table, AclMode right, const AttrNumber *columns, int count)
{
	if (pg_class_aclcheck(table, GetUserId(), right) == ACLCHECK_OK)
		return true;
	for (int i = 0; i < count; i++)
		if (pg_attribute_aclcheck(table, columns[i], GetUserId(), right) != ACLCHECK_OK)
			return false;
	return true;
}

bool
has_right_on(Oid table, AclMode right, const AttrNumber *columns, int count)
{
	return !has_permission_hook() && is_granted(table, right, columns, count);
}

bool
may_read(Oid table, AttrNumber column)
{
	return is_granted(table, ACL_SELECT, &column, 1);
}

bool
may_write(Oid table, AttrNumber column)
{
	return is_granted(table, ACL_UPDATE, &column, 1);
}

bool
may_read_all(Oid table)
{
	return pg_class_aclcheck(table, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
		   check_enable_rls(table, InvalidOid, true) != RLS_ENABLED;
}

} // namespace queue_ext::row
