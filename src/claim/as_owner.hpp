// as_owner.hpp - statements on a queue's table for which the caller needs no right: they run as the table's owner.
//
// Invariant: with the owner's rights runs no code but PostgreSQL's and this library's, unless the session's user and
// the current one have the owner's rights themselves. Triggers, checks, defaults and the like were written to run as
// whoever writes the table; and the session is the caller's: its temporary objects come before all that a path does not
// name, and what it has planned and compiled before, under paths of its own, is used again. So where the table has such
// code, the statement runs as the caller, who needs the rights then.

#pragma once

#include "../postgres.hpp"

#include "../catalog/owner.hpp"
#include "../statement/search_path.hpp"

namespace queue_ext::claim {

// What a statement does with a table.
struct Access
{
	Oid table;
	AclMode rights; // on the whole table
	int events;     // that may fire triggers: TRIGGER_TYPE_INSERT and so on
};

// Whether the statement runs no code of users: neither of the table, nor of its partitions and children. Takes ACCESS
// SHARE on these and their indexes while it looks at them.
bool has_no_users_code(Oid table, int events);

// Whether a statement may run as the owner. Takes the locks of has_no_users_code().
bool may_run_as_owner(Oid table, int events);

// Whether a statement on all these tables may; if not, the caller has the rights. Raises 42501, with the GRANT, if it has
// not.
bool is_for_owner(const Access *accesses, int count);

// Runs body as the owner of the first of the tables, under a path without schemas of users; or else as the caller.
// is_restricted: in a security-restricted operation, as in REINDEX, with settings that body makes undone. On ERROR the
// abort of the subtransaction or transaction restores user and settings. Raises what is_for_owner() raises.
template <int count, typename Body>
void
as_owner(const Access (&accesses)[count], bool is_restricted, Body &&body)
{
	if (!is_for_owner(accesses, count)) {
		body();
		return;
	}
	const auto under_path = [&] {
		statement::with_search_path(statement::bare_search_path, body);
	};
	if (is_restricted)
		catalog::as_restricted_owner_of(accesses[0].table, under_path);
	else
		catalog::as_owner_of(accesses[0].table, under_path);
}

} // namespace queue_ext::claim
