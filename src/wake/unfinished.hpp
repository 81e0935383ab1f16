// unfinished.hpp - which of the rows that a transaction has locked it leaves as they are.

#pragma once

#include "../postgres.hpp"

#include "../ring/ring.hpp"

namespace queue_ext::wake {

// Keeps, in their order, those candidates whose row versions this transaction has locked, and has
// neither replaced nor deleted; returns how many. They are of a ring that is not sorted. For the
// time before the commit, when the tables are still locked. Raises what reading a page raises.
int keep_unfinished(ring::Candidate *candidates, int count);

} // namespace queue_ext::wake
