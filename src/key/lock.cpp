// lock.cpp - see lock.hpp. And the SQL functions queue_lock and queue_try_lock.

#include "../postgres.hpp"

#include "lock.hpp"

#include "fnv.hpp"
#include "utf8.hpp"

namespace queue_ext::key {

static int lock_prefix = 0;

void
define_lock_setting()
{
	// Two sessions that disagree would not exclude each other: so a superuser settles
	// it for all of them.
	DefineCustomIntVariable(
		"queue_ext.advisory_lock_prefix",
		"Sets the upper half of the keys of all advisory locks that are taken by name.",
		"With 0 the keys use all 64 bits. All sessions must have the same.", &lock_prefix, 0,
		PG_INT32_MIN, PG_INT32_MAX, PGC_SUSET, 0, nullptr, nullptr, nullptr);
}

int64
lock_key_of(const char *name, size_t length)
{
	const Bytes bytes = utf8_of(name, length);
	return lock_key(bytes.start, bytes.length, lock_prefix);
}

static LockAcquireResult
acquire(int64 key, LOCKMODE mode, bool must_not_wait)
{
	LOCKTAG tag;
	const auto bits = static_cast<uint64>(key);
	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, static_cast<uint32>(bits >> 32),
						 static_cast<uint32>(bits), 1); // 1: a key of 64 bits
	return LockAcquire(&tag, mode, false, must_not_wait);
}

void
lock(int64 key, LOCKMODE mode)
{
	(void) acquire(key, mode, false);
}

bool
try_lock(int64 key, LOCKMODE mode)
{
	return acquire(key, mode, true) != LOCKACQUIRE_NOT_AVAIL;
}

static int64
key_of_argument(FunctionCallInfo fcinfo)
{
	const text *name = PG_GETARG_TEXT_PP(0);
	return lock_key_of(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
}

QUEUE_EXT_FUNCTION(queue_ext_queue_lock);
QUEUE_EXT_FUNCTION(queue_ext_queue_try_lock);

Datum
queue_ext_queue_lock(PG_FUNCTION_ARGS)
{
	lock(key_of_argument(fcinfo), ExclusiveLock);
	PG_RETURN_VOID();
}

Datum
queue_ext_queue_try_lock(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(try_lock(key_of_argument(fcinfo), ExclusiveLock));
}

} // namespace queue_ext::key
