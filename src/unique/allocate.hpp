// allocate.hpp - zeroed arrays of plain structs in the current memory context.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::unique {

// Allocates count zeroed items, also more than the 1 GB that palloc() allows.
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
