// request.hpp - what a claim is asked for.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::claim {

struct Request
{
	int max_jobs;
	TimestampTz call_time;
	const Interval *lease; // null: the queue's
	const text *worker;    // may be null
};

} // namespace queue_ext::claim
