// expired_jobs.hpp - jobs that have expired (expiry_rule.hpp) are not handed out: they become dead, are archived, or are deleted,
// as the queue says (on_expire).
//
// No claim ends one that it comes to. They are found by their index: each backend that claims looks for some from time to time
// (looks.hpp), in the transaction of the claim and before it, and queue_maintain ends all. That is done as the owner of the
// table (as_owner.hpp), so that a worker needs no right for that. What hinders it leaves the jobs where they are; they
// are passed by all the same.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "as_owner.hpp"
#include "looks.hpp"

namespace queue_ext::claim {

// Ends a batch of expired jobs that nobody has locked, of those that expired first, if it is time (looks.hpp): returns whether it
// was. None while another session has the archive locked that they go to. Raises what unless_hindered() raises.
bool expire_sometimes(definition::Definition *definition, TimestampTz now);

// Ends a batch of those that nobody has locked, behind that place in the order of their expiry. Sets it to the last of them,
// where the next batch begins, also if something hinders this one: an index read from its head passes all that were ended
// before, as long as a snapshot keeps these. Waits for locks on the archive. Raises what as_owner() and the executor raise, and
// 55000 where there is no archive for them, or a trigger has suppressed the end of one.
BatchResult expire_batch(definition::Definition *definition, TimestampTz now, Manner manner,
						 JobPlace *behind);

} // namespace queue_ext::claim
