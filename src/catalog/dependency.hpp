// dependency.hpp - what a cached object was made from, and whether it is still valid.
//
// An object that is made from catalogs records what it depends on: tables by their OIDs, other
// objects, as plancache.c does, by the hash values of syscache invalidation messages. A message
// about one of these makes the cached object invalid; any other message does not.
//
// Objects of PostgreSQL's own hardly ever change, and nearly every cached object depends on some:
// these are watched. A message about a watched one makes all cached objects invalid, so that none
// has to record which it uses.
//
// Example:
//     begin_dependent(&shape->dependent, context);
//     make_dependent(&shape->dependent, [&] {
//         depend_on_relation(&shape->dependent, table);
//         ... read the catalogs ...
//     });
//     if (!shape->dependent.is_valid) ... it is good for this call alone

#pragma once

#include "../postgres.hpp"

#include "../compat.hpp"
#include "chain.hpp"

namespace queue_ext::catalog {

struct Dependency;

// Part of a cached object. Lives in a memory context, whose reset or deletion removes it from all
// lists.
struct Dependent
{
	bool is_valid;
	MemoryContext context;
	Dependency *dependencies;
	Links<Dependent> links; // of all dependents
	MemoryContextCallback end;
};

// Starts a dependent: valid, without dependencies.
void begin_dependent(Dependent *dependent, MemoryContext context);

// Records a dependency on the relation. To be called within make_dependent(), before or after the
// catalogs are read. Ignores InvalidOid. This function and the next raise what reading catalogs
// raises, and 53200 when out of memory.
void depend_on_relation(Dependent *dependent, Oid relation);

// Records a dependency on an object of that syscache, which must have its OID as the key: PROCOID
// and so on, as registered in dependency.cpp.
void depend_on_object(Dependent *dependent, compat::SysCacheId cache, Oid object);

// Watches a function of PostgreSQL's own: a message about it makes all dependents invalid.
void watch_function(Oid function);

// The number of invalidation messages so far, and of dependents that one has made invalid.
uint64 message_count();
uint64 invalidation_count();

// Makes the dependent invalid if a message since messages_before was about one of its dependencies,
// or if there have been more messages than are kept. Never raises.
void catch_up(Dependent *dependent, uint64 messages_before);

// Calls make(), which reads catalogs and records dependencies. The dependent becomes invalid if a
// message that came meanwhile was about one of them. Raises what make() raises.
template <typename Make>
void
make_dependent(Dependent *dependent, Make &&make)
{
	static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Make>>);
	const uint64 messages_before = message_count();
	make();
	catch_up(dependent, messages_before);
}

// Registers the relcache and syscache callbacks. Called once, by _PG_init.
void register_dependencies();

} // namespace queue_ext::catalog
