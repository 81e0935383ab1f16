// count.hpp - counts claims in the queue's statistics, with how long their jobs were ready.

#pragma once

#include "../postgres.hpp"

#include "../stats/transaction_counters.hpp"
#include "compiled_claim.hpp"
#include "request.hpp"

namespace queue_ext::claim {

// A job as it was before its claim.
struct ReadyJob
{
	bool is_known;    // false: the table's columns do not tell
	bool was_leased;  // another claim's lease has run out, and its worker has not ended the claim
	TimestampTz when; // it was ready from then on
	bool has_place;   // of a managed queue, as the next ones
	int16 priority;
	TimestampTz run_at;
};

// Such a job, from its columns.
inline ReadyJob
ready_job(TimestampTz run_at, bool was_leased, TimestampTz leased_until)
{
	return {true, was_leased, was_leased ? Max(run_at, leased_until) : run_at, false, 0, 0};
}

inline ReadyJob
managed_job(int16 priority, TimestampTz run_at, bool was_leased, TimestampTz leased_until)
{
	ReadyJob job = ready_job(run_at, was_leased, leased_until);
	job.has_place = true;
	job.priority = priority;
	job.run_at = run_at;
	return job;
}

// An attached queue's job, of that row, if the column tells. It does not tell whether the job was
// claimed before.
inline ReadyJob
attached_job_in(AttrNumber ready_at, TupleTableSlot *row)
{
	if (ready_at == InvalidAttrNumber)
		return {};
	bool is_null;
	const Datum when = slot_getattr(row, ready_at, &is_null);
	return is_null ? ReadyJob{} : ready_job(DatumGetTimestampTz(when), false, 0);
}

// The job of that row of the queue's table.
inline ReadyJob
ready_job_in(const CompiledClaim *claim, TupleTableSlot *row)
{
	if (!claim->managed.has_columns)
		return attached_job_in(claim->ready_at, row);
	bool is_null;
	bool is_free;
	const Datum priority = slot_getattr(row, claim->managed.priority, &is_null);
	const Datum run_at = slot_getattr(row, claim->managed.run_at, &is_null);
	const Datum lease = slot_getattr(row, claim->managed.leased_until, &is_free);
	return managed_job(DatumGetInt16(priority), DatumGetTimestampTz(run_at), !is_free,
					   is_free ? 0 : DatumGetTimestampTz(lease));
}

// Where a claim has found its job.
enum class ClaimedFrom {
	ring,  // in the ring of all workers
	other, // elsewhere: that ring may still have it
};

// Counts the claim of a job that was claimed at that time. A job that has always been ready counts as
// one that has not waited. Raises 53200.
inline void
count_claim(definition::Definition *definition, const ReadyJob &job, TimestampTz call_time,
			ClaimedFrom from)
{
	stats::TransactionCounters *counters = job.is_known ? stats::counters_of(definition) : nullptr;
	if (counters == nullptr)
		return;
	if (job.was_leased)
		counters->counts.add(stats::Counter::expired, 1);
	stats::add_duration(&counters->counts.waiting,
						TIMESTAMP_NOT_FINITE(job.when) ? 0 : call_time - job.when);
	if (!job.has_place)
		return;
	stats::note_claim(counters, job.priority, job.run_at);
	if (from != ClaimedFrom::ring)
		stats::note_left(counters, job.priority, job.run_at);
}

inline ClaimedFrom
claimed_from(const Request &request)
{
	return request.kinds == nullptr ? ClaimedFrom::ring : ClaimedFrom::other;
}

} // namespace queue_ext::claim
