// locks.cpp - see locks.hpp.

#include "../postgres.hpp"

#include "locks.hpp"

#include "../array.hpp"
#include "../key/advisory_lock.hpp"
#include "../key/fnv.hpp"
#include "../key/utf8.hpp"

namespace queue_ext::unique {

// The number of keys that a call locks one by one: 256, or 1/32 of the lock table if that is more,
// but no more than 32,767. So several calls of that size can run at the same time.
static int
max_key_locks()
{
	constexpr int least = 256;
	constexpr int calls_at_once = 32;
	const int64 room = static_cast<int64>(max_locks_per_xact) * (MaxBackends + max_prepared_xacts);
	return static_cast<int>(Max(least, Min(room / calls_at_once, PG_INT16_MAX)));
}

Lock
lock_named(const char *name)
{
	const size_t length = strlen(name);
	const key::Bytes bytes = key::utf8_of(name, length);
	return {key::lock_key_of(name, length),
			static_cast<int>(key::fnv1_32(bytes.start, bytes.length) % stripe_count)};
}

// In the order of their numbers, as the invariant in locks.hpp demands.
static void
take_stripes(const char *space, const Lock *locks, int count, LOCKMODE mode)
{
	bool is_wanted[stripe_count] = {};
	for (int i = 0; i < count; i++)
		is_wanted[locks[i].stripe] = true;
	for (int i = 0; i < stripe_count; i++) {
		if (!is_wanted[i])
			continue;
		char *name = psprintf("unique_stripe|%s|%d", space, i);
		key::lock(key::lock_key_of(name, strlen(name)), mode);
		pfree(name);
	}
}

// Sorts the keys, as the invariant in locks.hpp demands, and takes keys that hash alike once.
void
take_locks(const char *space, const Lock *locks, int count)
{
	if (count > max_key_locks()) {
		take_stripes(space, locks, count, ExclusiveLock);
		return;
	}
	take_stripes(space, locks, count, ShareLock);
	auto *keys = allocate<int64>(count);
	for (int i = 0; i < count; i++)
		keys[i] = locks[i].key;
	qsort(keys, count, sizeof(int64), compare_int64);
	for (int i = 0; i < count; i++)
		if (i == 0 || keys[i] != keys[i - 1])
			key::lock(keys[i], ExclusiveLock);
	pfree(keys);
}

} // namespace queue_ext::unique
