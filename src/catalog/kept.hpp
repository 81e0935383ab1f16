// kept.hpp - builds a long-lived object without leaving other memory behind.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::catalog {

// A session may keep thousands of such objects; each would leave half of a larger block empty. As the
// minimum of a context, too: PostgreSQL gives others a context that was made for larger blocks.
constexpr Size kept_block_size = ALLOCSET_SMALL_INITSIZE;

// Calls make(context) with a new memory context of that name, for the object; the current context
// meanwhile is a scratch context that is deleted afterwards, as parsing leaves many times the
// memory behind that its result takes. On success the new context becomes a child of the parent; on
// ERROR both are deleted with the caller's context. The name must be a constant.
template <typename Make>
void
make_kept(const char *name, MemoryContext parent, Make &&make)
{
	static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Make>>);
	MemoryContext scratch =
		AllocSetContextCreate(CurrentMemoryContext, "queue_ext scratch", ALLOCSET_DEFAULT_SIZES);
	MemoryContext kept = AllocSetContextCreateInternal(scratch, name, kept_block_size,
													   kept_block_size, kept_block_size);
	MemoryContext old = MemoryContextSwitchTo(scratch);
	make(kept);
	MemoryContextSetParent(kept, parent);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
}

} // namespace queue_ext::catalog
