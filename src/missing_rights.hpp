// missing_rights.hpp - what a role is not granted, as the GRANT that would change it, for the hint of
// an error.
//
// Example:
//     error::no_right(name, grants_for(list_make1(need_of(table, ACL_SELECT | ACL_DELETE))));

#pragma once

#include "postgres.hpp"

namespace queue_ext::missing_rights {

// What a role needs on a relation. As in the executor, a right is needed on these columns, whose
// numbers are offset as in pull_varattnos(), or on any column if there are none.
struct Need
{
	Oid relation;
	Oid role;
	AclMode rights;
	Bitmapset *selected;
	Bitmapset *inserted;
	Bitmapset *updated;
};

// The caller's need of these rights, of each on the whole relation. In the current context.
Need *need_of(Oid relation, AclMode rights);

// The set of the columns of these names; if one of them does not exist, the whole relation.
Bitmapset *column_set(Oid relation, const char *const *names, int count);

// What the executor will check for the query, as it was analyzed and rewritten: a list of Need *.
List *needs_of(Query *query);

// The commands, separated by semicolons, that grant those of the needs (Need *) that the caller has
// not been granted; null if it has all. In the current context.
const char *grants_for(const List *needs);

} // namespace queue_ext::missing_rights
