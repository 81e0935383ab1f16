// request.hpp - what a caller asks of a claim.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::claim {

// The arguments of a pop, common to both paths.
struct Request
{
	int max_jobs;
	TimestampTz call_time;
	const Interval *lease; // null: the queue's
	const text *worker;    // may be null
};

} // namespace queue_ext::claim
