// kept.hpp - making something that stays, and leaving nothing else behind.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::catalog {

// Calls make(context) with a new context of that name, for what is to stay below the
// parent, while the current context is one that goes afterwards: parsing leaves many times
// the memory behind that its result takes. On ERROR both go. The name must be a constant.
template <typename Make>
void
make_kept(const char *name, MemoryContext parent, Make &&make)
{
	static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Make>>);
	MemoryContext scratch =
		AllocSetContextCreate(CurrentMemoryContext, "queue_ext scratch", ALLOCSET_DEFAULT_SIZES);
	MemoryContext kept = AllocSetContextCreateInternal(scratch, name, ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);
	make(kept);
	MemoryContextSetParent(kept, parent);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
}

} // namespace queue_ext::catalog
