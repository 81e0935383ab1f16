// queue_lock.cpp - queue_lock, queue_try_lock: advisory locks by name, until the transaction ends.

#include "../postgres.hpp"

#include "../key/advisory_lock.hpp"

namespace queue_ext::lock {

// Raises if the name cannot be converted to UTF-8, in which it is hashed.
static int64
key_of_argument(FunctionCallInfo fcinfo)
{
	const text *name = PG_GETARG_TEXT_PP(0);
	return key::lock_key_of(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
}

QUEUE_EXT_FUNCTION(queue_ext_queue_lock);
QUEUE_EXT_FUNCTION(queue_ext_queue_try_lock);

// Writes nothing, so it also works on a standby and does not call check_may_write().
Datum
queue_ext_queue_lock(PG_FUNCTION_ARGS)
{
	key::lock(key_of_argument(fcinfo), ExclusiveLock);
	PG_RETURN_VOID();
}

Datum
queue_ext_queue_try_lock(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(key::try_lock(key_of_argument(fcinfo), ExclusiveLock));
}

} // namespace queue_ext::lock
