// advisory_lock.cpp - see advisory_lock.hpp.

#include "../postgres.hpp"

#include "advisory_lock.hpp"

#include "fnv.hpp"
#include "utf8.hpp"

namespace queue_ext::key {

// The value of queue_ext.advisory_lock_prefix.
static int lock_prefix = 0;

void
define_lock_setting()
{
	// PGC_SUSET: sessions with different prefixes would take different locks for one name, so a
	// superuser sets it for all of them.
	DefineCustomIntVariable(
		"queue_ext.advisory_lock_prefix",
		"Sets the upper half of the keys of all advisory locks that are taken by name.",
		"With 0 the keys use all 64 bits. All sessions must have the same.", &lock_prefix, 0,
		PG_INT32_MIN, PG_INT32_MAX, PGC_SUSET, 0, nullptr, nullptr, nullptr);
}

// Converts to UTF-8 first, so that databases of different encodings take the same key.
int64
lock_key_of(const char *name, size_t length)
{
	const Bytes bytes = utf8_of(name, length);
	return lock_key(bytes.start, bytes.length, lock_prefix);
}

// Builds the tag as lockfuncs.c does for a 64-bit key, so that pg_advisory_xact_lock() and this
// function conflict. The lock belongs to the transaction (sessionLock is false).
static LockAcquireResult
acquire(int64 key, LOCKMODE mode, bool must_not_wait)
{
	LOCKTAG tag;
	const auto bits = static_cast<uint64>(key);
	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, static_cast<uint32>(bits >> 32),
						 static_cast<uint32>(bits), 1); // 1: a key of 64 bits
	return LockAcquire(&tag, mode, false, must_not_wait);
}

// Does not tell a new lock from one that this session holds already: locks are counted.
void
lock(int64 key, LOCKMODE mode)
{
	(void) acquire(key, mode, false);
}

// A lock that this session holds counts as taken, as with pg_try_advisory_xact_lock().
bool
try_lock(int64 key, LOCKMODE mode)
{
	return acquire(key, mode, true) != LOCKACQUIRE_NOT_AVAIL;
}

} // namespace queue_ext::key
