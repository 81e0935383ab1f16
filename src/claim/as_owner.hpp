// as_owner.hpp - statements on a queue's table for which the caller needs no right: they run as the table's owner.
//
// Invariant: with the owner's rights runs no code but PostgreSQL's and this library's, unless the session's user and
// the current one have the owner's rights themselves. Triggers, checks, defaults, casts and the like were written to run as
// whoever writes the table; and the session is the caller's: its temporary objects come before all that a path does not
// name, and what it has planned and compiled before, under paths of its own, is used again. So where the table has such
// code, the statement runs as the caller, who needs the rights then; or not at all.
//
// A table is looked at under the lock that the statement takes: no other session can give it a trigger, a check or a
// policy between. Statistics, indexes and partitions it can, as that takes a lesser lock.

#pragma once

#include "../postgres.hpp"

#include "../catalog/owner.hpp"
#include "../statement/search_path.hpp"

namespace queue_ext::claim {

// What a statement does with a table.
struct TableAccess
{
	Oid table;
	AclMode rights; // on the whole table
	int events;     // that may fire triggers: TRIGGER_TYPE_INSERT and so on; 0: it reads
	// The only partition that it writes, by way of the table; InvalidOid: it may write them all.
	Oid partition = InvalidOid;
};

// As whom it runs.
enum class Runner {
	owner,         // for another role: there is no code of users
	trusted_owner, // for one that has the owner's rights
	caller,
};

// How it runs.
enum class Manner {
	plain,
	// In a security-restricted operation, as in REINDEX, with settings that body makes undone.
	restricted,
	// The same, and never as the caller.
	owner_only,
};

// Whether a statement of that role runs no code of users on the table, its partitions and children: of these it takes
// the lock that the statement takes, for the rest of the transaction, and ACCESS SHARE on their indexes.
bool has_no_users_code(Oid table, int events, Oid role);

// The same of the table itself and of what the access writes of it.
bool has_no_users_code(const TableAccess &access, Oid role);

// Raises 55000 if a statement may have a trigger or constraint wait for the commit, of these tables or of those that foreign
// keys have it write: what it raises then fails the whole transaction. An UPDATE writes no columns of constraints. What a
// trigger of a user's writes is not known. Takes the locks of has_no_users_code(), and ACCESS SHARE on those tables.
void check_defers_nothing(const TableAccess *accesses, int count);

// Whether a statement may run as the owner. Takes the locks of has_no_users_code().
bool may_run_as_owner(Oid table, int events);

// As whom a statement on all these tables is to run: the owner is that of the first. Raises 42501, with the GRANT, if
// it is to be the caller, who has not the rights or must not. Takes the locks of has_no_users_code().
Runner choose_runner(const TableAccess *accesses, int count, Manner manner);

// Raises the error that was caught again, without what it says of rows, which PostgreSQL has made with the owner's rights:
// that is for the server's log alone (detail_log).
[[noreturn]] void raise_without_rows();

// Runs body, which runs as the owner for a role that has not the owner's rights. Raises what body raises, without what that
// says of rows. No notice reaches the client: that a name is cut, say, which has the name.
template <typename Body>
void
without_rows(Body &&body)
{
	const MemoryContext context = CurrentMemoryContext;
	const int level = NewGUCNestLevel();
	statement::set_locally({"client_min_messages", "error"});
	PG_TRY();
	{
		body();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		raise_without_rows();
	}
	PG_END_TRY();
	AtEOXact_GUC(true, level);
}

// Runs body, which runs no code of users, for such a role: as the owner of the table, under a path without schemas of users.
// On ERROR the abort of the subtransaction or transaction restores user and settings.
template <typename Body>
void
as_owner_for_other(Oid table, Body &&body)
{
	without_rows([&] {
		catalog::as_owner_of(
			table, [&] { statement::with_search_path(statement::bare_search_path, body); });
	});
}

// Runs body(runner), as the owner of the first of the tables under a path without schemas of users; or else as the
// caller. On ERROR the abort of the subtransaction or transaction restores user and settings. Raises what
// choose_runner() raises; and what body raises, without what that says of rows where these are not the caller's to see.
template <typename Body>
void
as_owner(const TableAccess *accesses, int count, Manner manner, Body &&body)
{
	const Runner runner = choose_runner(accesses, count, manner);
	const auto run = [&] {
		body(runner);
	};
	const auto under_path = [&] {
		statement::with_search_path(statement::bare_search_path, run);
	};
	const auto as_its_owner = [&] {
		if (manner == Manner::plain)
			catalog::as_owner_of(accesses[0].table, under_path);
		else
			catalog::as_restricted_owner_of(accesses[0].table, under_path);
	};
	if (runner == Runner::owner)
		without_rows(as_its_owner);
	else if (runner == Runner::trusted_owner)
		as_its_owner();
	else if (manner == Manner::plain)
		run();
	else
		catalog::as_restricted_user(GetUserId(), run);
}

} // namespace queue_ext::claim
