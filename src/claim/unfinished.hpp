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
// nor deleted by this transaction. For the time before the commit, when the table is still locked.
// Raises what reading a page raises.
Unfinished keep_unfinished(Oid table, Candidate *candidates, int count);

} // namespace queue_ext::claim
