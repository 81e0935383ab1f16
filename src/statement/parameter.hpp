// parameter.hpp - the parameters that all statements of a queue have.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::statement {

// In the order of the statements' parameters: call_time is $1.
enum class Parameter {
	call_time, // the wall clock at the start of the call
	lease,
	worker,
	error,
	retry_at,
	id,
	attempt,
	payload,
	priority,
	run_at,
	max_attempts,
	state,
	ids,
	attempts,
	errors,
	retry_ats,
	payloads,
	row, // of the queue's table
	tables,
	tids,
	unique_key,
	unique_keys,
	tid,
	arguments, // of the condition of a repair
	kind,
	kinds,
	result,
	results,
	slot,
	cutoff,
	retry,
	max_delay,
	new_progress,
	progresses,
	expires_at,
};
constexpr int parameter_count = static_cast<int>(Parameter::expires_at) + 1;

} // namespace queue_ext::statement
