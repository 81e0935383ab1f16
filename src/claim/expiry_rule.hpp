// expiry_rule.hpp - when a job expires: at its expires_at, unless a worker has started it by then.
//
// A job counts as started once a claim of it was handed out, unless that was given back.
//
// Invariant: no claim writes a job that has expired. It passes the job by, and leaves it to the looks (expired_jobs.hpp).
// Whether one has expired is asked by the present clock, when its row is read to be locked or written: the clock of a
// call may stand still while that reads. A job that has expired is claimable again only after a write of its row, of which the
// rings are told as of any other; so they need not keep it, nor know when a job expires.
//
// Occurrences of schedules do not expire, as the schedule says what becomes of late ones. Both the claims and the looks ask for
// that: an expires_at of theirs, be it from a default, a trigger or an UPDATE, means nothing.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::claim {

// Whether jobs of the queue expire.
inline bool
may_expire(const definition::Definition *definition)
{
	return definition->on_expire != definition::OnExpire::none;
}

// Whether the current role, which asks for a job once more, is to write its expiry, by a statement that may read it, too. Where
// the queue does not say what becomes of expired jobs, none expires, and no right on the column is needed. But it could say so
// later: so an expiry that the job has from before is cleared if the role has the rights.
bool writes_expiry(const definition::Definition *definition, bool reads_it);

// The columns that tell. expires_at is InvalidAttrNumber where jobs do not expire; the last two are where the table has none.
struct ExpiryColumns
{
	AttrNumber expires_at;
	AttrNumber attempt;
	AttrNumber released;
	AttrNumber unique_key;
};

// Those of the queue's table, or of a partition or child of it.
ExpiryColumns expiry_columns(const definition::Definition *definition, Oid table);

// When the job of the row expires; DT_NOEND: it does not.
TimestampTz expiry_of(const ExpiryColumns &columns, TupleTableSlot *row);

// Whether it has expired. Reads the clock where the job expires at all.
inline bool
has_expired(const ExpiryColumns &columns, TupleTableSlot *row)
{
	if (columns.expires_at == InvalidAttrNumber)
		return false;
	const TimestampTz expiry = expiry_of(columns, row);
	return expiry != DT_NOEND && expiry <= GetCurrentTimestamp();
}

// The same in SQL, beginning with " and ": a condition that leaves out the jobs, rows "t", that have expired; "" where none do.
const char *unexpired_condition(const definition::Definition *definition);

// A condition, of that row: no worker has the job in hand at that moment, an expression. A lease that has ended tells nothing
// of whether one has started it: who sets attempt back to 0 makes it a job that nobody has.
const char *idle_text(const char *row, const char *moment);

// A condition, of that row: no worker has started the job, and it is no occurrence of a schedule.
const char *unstarted_text(const definition::Definition *definition, const char *row);

} // namespace queue_ext::claim
