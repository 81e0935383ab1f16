// any_right.hpp - the caller's rights on a table, checked before the table is locked.

#pragma once

#include "../postgres.hpp"

#include "../error.hpp"
#include "../missing_rights.hpp"

namespace queue_ext::catalog {

// Raises 42501 unless the caller has one of the rights on the table or on a column of it: then the
// caller could take the same lock by a statement. The statement or direct path checks what it
// needs, with the table locked. Does nothing if the table does not exist. make_needs() returns what
// the whole call needs (missing_rights::Need *), for the hint.
template <typename MakeNeeds>
void
check_any_right(Oid table, AclMode rights, MakeNeeds &&make_needs)
{
	bool is_missing = false;
	if (pg_class_aclcheck_ext(table, GetUserId(), rights, &is_missing) == ACLCHECK_OK || is_missing)
		return;
	const AclMode of_columns = rights & ACL_ALL_RIGHTS_COLUMN;
	if (of_columns != 0 &&
		pg_attribute_aclcheck_all(table, GetUserId(), of_columns, ACLMASK_ANY) == ACLCHECK_OK)
		return;
	const char *name = get_rel_name(table);
	if (name != nullptr)
		error::no_right(name, missing_rights::grants_for(make_needs()));
}

} // namespace queue_ext::catalog
