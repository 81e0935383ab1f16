// criteria.hpp - when two jobs of a managed queue are the same: by what of the payload,
// in which stretch of time, and which states count.
//
// Invariant: two jobs are the same under equal criteria exactly when their values, as
// text (canonical.hpp), are equal.

#pragma once

#include "../postgres.hpp"

#include "canonical.hpp"

namespace queue_ext::unique {

enum class State { ready, scheduled, leased, dead, done };
constexpr int state_count = static_cast<int>(State::done) + 1;

struct Criteria
{
	bool is_whole;      // all of the payload
	Names names;        // or these keys of it
	const char *by;     // the names as a JSON array; null for the whole
	int64 period;       // microseconds; 0: none
	TimestampTz bucket; // where the stretch of time begins
	TimestampTz bucket_end;
	bool counts[state_count];

	bool has_period() const
	{
		return period > 0;
	}

	bool does_count(State state) const
	{
		return counts[static_cast<int>(state)];
	}

	// Whether it must be known later that there was such a job.
	bool is_to_be_remembered() const
	{
		return has_period() || does_count(State::done);
	}
};

// What the caller gave; null where there was nothing.
struct Choice
{
	ArrayType *unique_by;
	const Interval *period;
	ArrayType *states;
	TimestampTz moment; // that the bucket must contain
};

// In the current context. Raises 22004, 2202E, 22023, 0A000, 54000 for what cannot be
// meant. Takes no lock.
Criteria read_criteria(const Choice &choice);

} // namespace queue_ext::unique
