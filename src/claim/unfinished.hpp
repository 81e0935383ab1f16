// unfinished.hpp - which of the rows that a transaction has locked it leaves as they are.

#pragma once

#include "../postgres.hpp"

#include "ring.hpp"

namespace queue_ext::claim {

// Candidates that a commit leaves as they are.
struct Unfinished
{
	int count;
	bool has_locked; // the transaction has locked one of them, which the commit makes claimable
};

// Keeps, in their order, those candidates whose row versions are there, and were neither replaced
// nor deleted by this transaction. They are of a ring that is not sorted. For the time before the
// commit, when the tables are still locked. Raises what reading a page raises.
Unfinished keep_unfinished(Candidate *candidates, int count);

} // namespace queue_ext::claim
