// owner.hpp - the owner of a queue's table, who may change the queue, and as whom its fragments are
// compiled.

#pragma once

#include "../postgres.hpp"

#include "../compat.hpp"

namespace queue_ext::catalog {

// Returns InvalidOid if there is no such table.
inline Oid
find_owner(Oid table)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	const Oid owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

// Raises XX000 if there is no such table.
inline Oid
owner_of(Oid table)
{
	const Oid owner = find_owner(table);
	if (!OidIsValid(owner))
		elog(ERROR, "cache lookup failed for relation %u", table);
	return owner;
}

// Raises 42501 unless the current user owns the table. Does nothing if the table does not exist.
inline void
check_owner(Oid table)
{
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(table)) &&
		!compat::owns_relation(table, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(table));
}

// Runs body as that user, in a security context with that restriction, too. On ERROR the abort of the
// subtransaction or transaction restores the user.
template <typename Body>
void
as_user(Oid role, Body &&body, int restriction = 0)
{
	Oid user;
	int security;
	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(role, security | SECURITY_LOCAL_USERID_CHANGE | restriction);
	body();
	SetUserIdAndSecContext(user, security);
}

// As the table's owner.
template <typename Body>
void
as_owner_of(Oid table, Body &&body, int restriction = 0)
{
	as_user(owner_of(table), body, restriction);
}

// Runs body, which runs code of others, as that user, in a security-restricted operation, as in
// REINDEX and ANALYZE, and in that further restriction; settings that body makes are undone. On ERROR the abort
// of the subtransaction or transaction restores the user.
template <typename Body>
void
as_restricted_user(Oid role, Body &&body, int restriction = 0)
{
	const int level = NewGUCNestLevel();
	as_user(role, body, SECURITY_RESTRICTED_OPERATION | restriction);
	AtEOXact_GUC(false, level);
}

// As the table's owner.
template <typename Body>
void
as_restricted_owner_of(Oid table, Body &&body, int restriction = 0)
{
	as_restricted_user(owner_of(table), body, restriction);
}

} // namespace queue_ext::catalog
