// criteria.hpp - when two jobs of a managed queue are duplicates: by which part of the payload, in
// which period, and in which states the earlier one counts.
//
// Invariant: two jobs are duplicates under equal criteria exactly if their canonical values
// (canonical.hpp) are equal.

#pragma once

#include "../postgres.hpp"

#include "canonical.hpp"

namespace queue_ext::unique {

// The states of definition::job_states, in that order; then done: the row is no longer in the
// table.
enum class State { ready, scheduled, leased, dead, done };
constexpr int state_count = static_cast<int>(State::done) + 1;

// Made by read_criteria(). Two calls with equal arguments may differ in the bucket.
struct Criteria
{
	bool is_whole;      // the whole payload counts
	Names names;        // or only these keys of it
	const char *by;     // the names as a JSON array; null for the whole payload
	int64 period;       // in microseconds; 0: none
	TimestampTz bucket; // the start of the period that counts
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

	// Whether inserted jobs are recorded in queue_unique_job, so that a later call can count them
	// when they are done.
	bool is_to_be_remembered() const
	{
		return has_period() || does_count(State::done);
	}
};

// The caller's arguments; null where the caller gave none.
struct JobChoice
{
	ArrayType *unique_by;
	const Interval *period;
	ArrayType *states;
	TimestampTz moment;    // within the bucket
	const char *time_zone; // by whose clock periods begin; null: UTC
};

// Checks the arguments and returns the criteria, in the current memory context. Raises 22004 for a
// null name, 22023 for an unknown state or none, for an unknown time zone, and for a period that is not positive or too long,
// 0A000 for a period with months, 54000 if the names are too long together. Takes no lock.
Criteria read_criteria(const JobChoice &choice);

} // namespace queue_ext::unique
