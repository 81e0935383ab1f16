// due.hpp - rows that have become due become candidates, without a sweep: those of a managed queue here, those of an
// attached one by the news (news.hpp), which finds their places.
//
// Invariant: a row that is taken from those that become due is in flight until it stands among the candidates, or in the
// table's log, or is known to have been replaced or removed by a transaction that has committed. Where an error prevents that, a sweep is
// requested; no interrupt is heeded in between.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../ring/ring.hpp"

namespace queue_ext::claim {

// Makes candidates, or news, of the rows that are due by that time, but for those that are not there any more: jobs that
// were finished, or whose lease was extended; of all of them if this transaction has written. The table must be locked.
// Takes the ring's spinlock if there are any. Returns whether more may be due: the news of these come first, as the log holds
// few. Raises what reading a row raises.
bool admit_due(const definition::Definition *definition, ring::Ring *ring, TimestampTz now);

} // namespace queue_ext::claim
