// similar.hpp - the queue that a caller may have meant by a name that means none.

#pragma once

#include "../postgres.hpp"

#include "name.hpp"

namespace queue_ext::definition {

// Raises 42704 for the name, which was written so. Detail and hint name a queue of the same name in
// another schema, or one whose name differs in case, unless the caller may not read the view "queues":
// then they name no other queue.
[[noreturn]] void raise_unknown(const Name &name, const char *written);

// Whether a queue of that schema is looked for by the name. Takes no lock.
bool is_searched(const Name &name, Oid schema);

} // namespace queue_ext::definition
