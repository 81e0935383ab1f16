// job.hpp - a job of a managed queue as sending and finishing speak of it to the engine.

#pragma once

#include "../postgres.hpp"

#include "../statement/statement.hpp"

namespace queue_ext::job {

// Acts on jobs, by a statement or without, in the words of an error's context.
constexpr const char *act_of_send = "insert into";
constexpr const char *act_of_unique_insert = "unique insert into";
constexpr const char *act_of_completion = "completion (\"on_complete\") in";

// A job and the claim it was handed out by.
struct Receipt
{
	int64 id;
	int32 attempt;
	bool has_attempt; // false: of any attempt
	int position;     // in the caller's arrays
	int32 failures;   // how often it has failed, where that is asked for
};

// Jobs to be sent, and what they have in common.
struct NewJobs
{
	int16 priority;
	TimestampTz run_at;
	int32 max_attempts;
	const Datum *payloads; // jsonb
	int count;
	const Datum *unique_keys; // text, one for each payload; null: none have one
	const text *kind;         // of all; null: the column's default
	bool has_expiry;          // all have that one; else the column's default
	TimestampTz expires_at;
};

// The jobs with these payloads and the arguments' options, without unique keys.
inline NewJobs
new_jobs(const statement::Arguments &arguments, const Datum *payloads, int count)
{
	const auto value = [&](statement::Parameter parameter) {
		return arguments.values[static_cast<int>(parameter)];
	};
	return {DatumGetInt16(value(statement::Parameter::priority)),
			arguments.has(statement::Parameter::run_at)
				? DatumGetTimestampTz(value(statement::Parameter::run_at))
				: GetCurrentTransactionStartTimestamp(),
			DatumGetInt32(value(statement::Parameter::max_attempts)),
			payloads,
			count,
			nullptr,
			arguments.has(statement::Parameter::kind)
				? DatumGetTextPP(value(statement::Parameter::kind))
				: nullptr,
			arguments.has(statement::Parameter::expires_at),
			DatumGetTimestampTz(value(statement::Parameter::expires_at))};
}

} // namespace queue_ext::job
