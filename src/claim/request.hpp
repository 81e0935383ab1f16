// request.hpp - what a caller asks of a claim.

#pragma once

#include "../postgres.hpp"

#include "../ring/kinds.hpp"

namespace queue_ext::claim {

// The arguments of a pop, common to both paths.
struct Request
{
	int max_jobs;
	TimestampTz call_time;
	const Interval *lease;    // null: the queue's
	const text *worker;       // may be null
	const ring::Kinds *kinds; // that it takes; null: all
	bool is_waiting;          // the backend waits if there is nothing to claim
	bool has_slept;           // it has, and its client may be gone meanwhile
	bool is_rolled_back;      // what the call writes is undone at once, so it must not write
	bool *is_chosen; // it was woken for a job, and has taken none yet (wait/sleep.hpp); may be null
};

} // namespace queue_ext::claim
