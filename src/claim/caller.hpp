// caller.hpp - what the choice of a queue's rows depends on besides the rows and the clock: who
// calls, and with which settings.
//
// Callers for whom "pending" or a policy means something else must not share candidates: what one
// of them leaves out may be another's. So a ring belongs to a queue and a variant, which is a hash
// of all that the expressions ask of their caller. The hash only decides which candidates a call
// tries; whether it may have the row is for the expressions themselves.
//
// A function of the user's that is not immutable may read anything, so no variant can be named for
// it: its claims find their rows themselves (portable.hpp). One in SQL that the planner puts in
// place of its call is looked through.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "request.hpp"

namespace queue_ext::claim {

// What expressions ask of their caller.
struct CallerUse
{
	bool role;          // current_user, privileges, policies
	bool session;       // session_user, the backend, its client
	bool worker;        // the variable "worker"
	bool lease;         // the variable "lease"
	bool formats;       // settings on which PostgreSQL's own stable functions depend
	List *settings;     // the names (char *) that are given to current_setting()
	const char *opaque; // what may depend on anything, in words; or null
};

// The expression with simple SQL functions in place of their calls, to be looked at and not to be
// evaluated. Records dependencies of the definition on what it names; to be called within
// make_dependent(). In the current context. Raises what the planner raises.
Node *flatten(definition::Definition *definition, Node *expression);

// Adds what the flat expression asks, and what the policies of the tables of its sub-selects ask. Locks
// these tables ACCESS SHARE until the end of the transaction. Records dependencies of the definition on
// what the policies name; to be called within make_dependent(). Raises what the planner raises, and 54001.
void add_use(CallerUse *use, definition::Definition *definition, Node *flat);

// The conditions (Node *) of the table's policies for a claim, flat, in the current context. Records
// dependencies of the definition on what they name; to be called within make_dependent(). Raises what the
// planner raises.
List *flat_policies(definition::Definition *definition, Relation table);

// Adds what the policies, as flat_policies() returns them, ask; and the role, to which each is granted. To
// be called within make_dependent(). Raises what add_use() raises.
void add_policies(CallerUse *use, definition::Definition *definition, List *policies);

// Copies it into the memory context.
CallerUse copy_use(const CallerUse &use, MemoryContext context);

// Whether all callers choose alike.
bool is_same_for_all(const CallerUse &use);

// The variant of this call: a hash of what it gives to those uses, added to the hash of others. 0
// stays 0 where all callers choose alike.
uint64 variant_of(const CallerUse &use, const Request &request, uint64 others);

} // namespace queue_ext::claim
