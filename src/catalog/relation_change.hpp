// relation_change.hpp - calls what wants to know of changed relations.
//
// A backend has room for ten relcache callbacks, of the server and of all extensions; one too many ends
// the session (FATAL). Citus takes five and the server three, so the library takes one.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::catalog {

// Has visit(OID) called for each relcache message; InvalidOid: all relations have changed. It must not
// read catalogs, nor raise. For _PG_init alone.
void listen_to_relations(void (*visit)(Oid relation));

} // namespace queue_ext::catalog
