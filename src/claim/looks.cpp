// looks.cpp - see looks.hpp.

#include "../postgres.hpp"

#include "looks.hpp"

namespace queue_ext::claim {

using definition::Definition;

// How long a backend does not look after a look, and after one that has failed.
constexpr int64 pause = USECS_PER_SEC;
constexpr int64 pause_failed = 60 * USECS_PER_SEC;

bool
is_hindrance(const ErrorData *error)
{
	switch (ERRCODE_TO_CATEGORY(error->sqlerrcode)) {
		case ERRCODE_TRANSACTION_ROLLBACK:
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_INTERNAL_ERROR:
			return false;
		default:
			return !statement::is_interrupt(error);
	}
}

static TimestampTz *
next_look(Definition *definition, Look which)
{
	return &definition::beside<ClaimsKept>(definition)->next_looks[static_cast<int>(which)];
}

// At the level SERIALIZABLE a look would conflict with what others do to the jobs. A moment that is further ahead than any
// pause is one of a clock that has gone back.
bool
take_look(Definition *definition, Look which, TimestampTz now)
{
	TimestampTz *next = next_look(definition, which);
	if (IsolationIsSerializable() || (now < *next && *next - now <= pause_failed))
		return false;
	*next = now + pause;
	return true;
}

void
put_off(Definition *definition, Look which, TimestampTz now)
{
	*next_look(definition, which) = now + pause_failed;
}

void
look_again(Definition *definition, Look which)
{
	*next_look(definition, which) = 0;
}

} // namespace queue_ext::claim
