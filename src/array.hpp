// array.hpp - arrays of plain structs: zeroed memory for them, and the order of those of int64, and these as SQL has them.

#pragma once

#include "postgres.hpp"

namespace queue_ext {

// Allocates count zeroed items in the current memory context, also more than the 1 GB that palloc() allows.
template <typename Item>
Item *
allocate(int count)
{
	static_assert(std::is_trivially_destructible_v<Item>);
	return static_cast<Item *>(
		// NOLINTNEXTLINE(bugprone-sizeof-expression): items may be pointers
		palloc_extended(sizeof(Item) * Max(count, 1), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
}

// The same in another context, up to 1 GB.
template <typename Item>
Item *
allocate_in(MemoryContext context, int count)
{
	static_assert(std::is_trivially_destructible_v<Item>);
	return static_cast<Item *>(MemoryContextAllocZero(context, sizeof(Item) * Max(count, 1)));
}

// For qsort() and bsearch().
inline int
compare_int64(const void *left, const void *right)
{
	const int64 one = *static_cast<const int64 *>(left);
	const int64 other = *static_cast<const int64 *>(right);
	return one < other ? -1 : one > other;
}

// A bigint[]. In the current memory context.
inline Datum
bigint_array(const int64 *numbers, int count)
{
	auto *values = static_cast<Datum *>(palloc(sizeof(Datum) * Max(count, 1)));
	for (int i = 0; i < count; i++)
		values[i] = Int64GetDatum(numbers[i]);
	ArrayType *array =
		construct_array(values, count, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
	pfree(values);
	return PointerGetDatum(array);
}

} // namespace queue_ext
