// locks.cpp - see locks.hpp.

#include "../postgres.hpp"

#include "locks.hpp"

#include "../key/lock.hpp"

namespace queue_ext::unique {

constexpr int max_key_locks = 256;

static void
lock_stripes(const queue::Definition *definition, const JobKey *keys, int count, LOCKMODE mode)
{
	bool is_wanted[stripe_count] = {};
	for (int i = 0; i < count; i++)
		is_wanted[keys[i].stripe] = true;
	for (int i = 0; i < stripe_count; i++)
		if (is_wanted[i])
			key::lock(stripe_lock(definition, i), mode);
}

static int
compare_locks(const void *left, const void *right)
{
	const int64 a = *static_cast<const int64 *>(left);
	const int64 b = *static_cast<const int64 *>(right);
	return a < b ? -1 : a > b;
}

void
lock_keys(const queue::Definition *definition, const JobKey *keys, int count)
{
	if (count > max_key_locks) {
		lock_stripes(definition, keys, count, ExclusiveLock);
		return;
	}
	lock_stripes(definition, keys, count, ShareLock);
	int64 locks[max_key_locks];
	for (int i = 0; i < count; i++)
		locks[i] = keys[i].lock;
	qsort(locks, count, sizeof(int64), compare_locks);
	for (int i = 0; i < count; i++)
		if (i == 0 || locks[i] != locks[i - 1])
			key::lock(locks[i], ExclusiveLock);
}

} // namespace queue_ext::unique
