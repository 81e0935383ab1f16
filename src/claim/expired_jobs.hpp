// expired_jobs.hpp - jobs that nobody has started before their expires_at are not handed out: they become dead, are
// archived, or are deleted, as the queue says (on_expire).
//
// A job counts as started once a claim of it was handed out, unless that was given back. A claim sees whether a job has
// expired when it has won its row, so whether it is pending does not depend on that. It leaves the job out, goes on to the
// next one, and ends the job in its transaction, as the owner of the table (as_owner.hpp), so that a worker needs no right
// for that. Its own attempt does not count. What hinders the end has the job dead where it is, by the rights of the claim.
//
// Jobs that no claim comes to, as others stand in front of them, are found by their index: each backend looks from time to
// time (looks.hpp), and queue_maintain does.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "as_owner.hpp"
#include "looks.hpp"

namespace queue_ext::claim {

// The jobs that a claim has won, and found expired.
struct Expired
{
	MemoryContext context;
	int64 *ids; // of those that have not been ended yet
	int count;
	int room;
	int ended;
};

// Whether jobs of the queue expire.
inline bool
may_expire(const definition::Definition *definition)
{
	return definition->on_expire != definition::OnExpire::none;
}

// Whether a worker has started the job: one that was claimed so often, and given back so often.
inline bool
was_started(int32 claims, int32 released)
{
	return claims > released;
}

// Notes a job that this transaction has claimed. Raises 53200.
void note_expired(Expired *expired, int64 id);

// Notes the jobs that have expired at that time, among the first count rows that the last statement has returned, which
// has claimed them. Leaves them out; returns how many rows are left. Raises 53200.
uint64 take_unexpired(const definition::Definition *definition, Expired *expired, TimestampTz now,
					  uint64 count);

// How many jobs were found expired.
inline int
count_expired(const Expired *expired)
{
	return expired == nullptr ? 0 : expired->ended + expired->count;
}

// Whether so many have not been ended yet that the claim should do that before it goes on.
inline bool
has_met_many(const Expired *expired)
{
	return expired != nullptr && expired->count >= look_batch_size;
}

// Ends the jobs. Waits, as a completion does, for who has the archive locked that they go to. What hinders the end is said in
// the server's log alone, and they are dead then where they are. Raises what unless_hindered() raises, and what an UPDATE by
// the caller raises.
void end_expired(definition::Definition *definition, Expired *expired);

// Ends a batch of expired jobs that nobody has locked, of those that expired first, if it is time (looks.hpp); none while
// another session has the archive locked that they go to. Raises what unless_hindered() raises.
void expire_sometimes(definition::Definition *definition, TimestampTz now);

// The same, whenever it has looked last, unless that has failed.
void expire_more(definition::Definition *definition, TimestampTz now);

// Ends a batch of expired jobs that nobody has locked. Waits for locks on the archive. Raises what as_owner() and the executor
// raise, and 55000 where there is no archive for them.
BatchResult expire_batch(definition::Definition *definition, TimestampTz now, Manner manner);

} // namespace queue_ext::claim
