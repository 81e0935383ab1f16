// relation_change.cpp - see relation_change.hpp.

#include "../postgres.hpp"

#include "relation_change.hpp"

namespace queue_ext::catalog {

constexpr int most_listeners = 4;
static void (*listeners[most_listeners])(Oid relation);
static int listener_count = 0;

static void
on_relation_change(Datum, Oid relation)
{
	for (int i = 0; i < listener_count; i++)
		listeners[i](relation);
}

void
listen_to_relations(void (*visit)(Oid relation))
{
	if (listener_count == most_listeners)
		elog(ERROR, "too many listeners to changes of relations");
	if (listener_count == 0)
		CacheRegisterRelcacheCallback(on_relation_change, static_cast<Datum>(0));
	listeners[listener_count++] = visit;
}

} // namespace queue_ext::catalog
