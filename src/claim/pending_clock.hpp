// pending_clock.hpp - when a row that is not pending becomes so by the clock alone.
//
// A condition such as "state = 'available' and run_at <= call_time" only waits for a time that stands in the row.
// Where the clock has no other place in "pending" than in such comparisons, joined by AND and OR, and all else depends
// on the row alone, that time is an expression over the row:
//
//     run_at <= call_time                           run_at
//     taken_at < call_time - interval '4 hours'     taken_at + interval '4 hours'
//     at <= call_time at time zone 'UTC'            at at time zone 'UTC'
//     a and b, a or b                               the later of their times, the earlier one
//     what depends on the row alone                 -infinity or infinity
//
// Invariant: a row that is not pending does not become so before that time, if it is not written. So an interval must
// have a length that no time zone and no calendar changes: no days, no months. And to find the time raises nothing
// that the condition does not raise: what comes behind a comparison with the clock, which may guard it, must not be
// able to raise.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::claim {

// That time, and a condition that all rows meet which may become pending, as SQL without an alias.
struct PendingClock
{
	const char *due; // of type timestamptz; infinity: never by the clock. Null: no expression tells
	const char *condition;
};

// Such a time is as never: 2800-01-01, in SQL and as a TimestampTz. An interval is not added to a time after 2900.
constexpr const char *never_due_text = "'2800-01-01 00:00:00+00'::pg_catalog.timestamptz";
constexpr TimestampTz never_due = INT64CONST(292194) * USECS_PER_DAY;

// Finds the time at which a row of the table becomes pending under that condition. In the current context. Raises what
// the evaluation of constants raises, and 54001.
PendingClock find_pending_clock(Node *condition, Oid table);

// Whether the expression is a call that adds to a time an interval without days and months, or takes it away. Its
// result does not depend on the session then. Raises what the evaluation of constants raises.
bool is_exact_shift(Node *expression);

} // namespace queue_ext::claim
