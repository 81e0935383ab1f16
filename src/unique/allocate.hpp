// allocate.hpp - arrays of plain structs in the current context.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::unique {

// So many zeroed items, more than palloc's 1 GB if need be.
template <typename Item>
Item *
allocate(int count)
{
	static_assert(std::is_trivially_destructible_v<Item>);
	return static_cast<Item *>(
		// NOLINTNEXTLINE(bugprone-sizeof-expression): items may be pointers
		palloc_extended(sizeof(Item) * Max(count, 1), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
}

} // namespace queue_ext::unique
