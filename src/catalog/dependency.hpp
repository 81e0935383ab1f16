// dependency.hpp - what a thing that is cached was made from, and whether that stands.
//
// What is made from catalogs says from which objects: tables by their OIDs, and others, as
// plancache.c does, by the hash values that syscache invalidation messages carry. A message
// about one of these makes the thing invalid, any other message does not.
//
// Objects of PostgreSQL's own hardly ever change, and nearly everything depends on some:
// these are watched. A message about one makes all things invalid, so that none has to
// remember which it uses.
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

// Part of the thing; lives in a context, and ends with it.
struct Dependent
{
	bool is_valid;
	MemoryContext context;
	Dependency *dependencies;
	Links<Dependent> links; // of all
	MemoryContextCallback end;
};

// Makes it valid, with nothing that it depends on yet.
void begin_dependent(Dependent *dependent, MemoryContext context);

// Within make_dependent(), before or after the catalogs are asked about the object. These may
// raise what reading catalogs raises; an InvalidOid is left out.
void depend_on_relation(Dependent *dependent, Oid relation);

// On an object that the syscache finds by its OID: PROCOID and so on, as registered in
// dependency.cpp.
void depend_on_object(Dependent *dependent, compat::SysCacheId cache, Oid object);

// The same for a function of PostgreSQL's own, whatever is made from it.
void watch_function(Oid function);

// The number of messages so far, and how often one has made something invalid.
uint64 message_count();
uint64 invalidation_count();

// Makes the dependent invalid if a message since then was about what it depends on, or if
// that cannot be told any more.
void catch_up(Dependent *dependent, uint64 messages_before);

// Calls make(), which reads catalogs and says what the dependent depends on. It stays as
// valid as it was unless something of that has changed meanwhile.
template <typename Make>
void
make_dependent(Dependent *dependent, Make &&make)
{
	static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Make>>);
	const uint64 messages_before = message_count();
	make();
	catch_up(dependent, messages_before);
}

// Registers the callbacks. Called once, by _PG_init.
void register_dependencies();

} // namespace queue_ext::catalog
