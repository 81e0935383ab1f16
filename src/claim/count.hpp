// count.hpp - counts claims in the queue's statistics, with how long their jobs were ready.

#pragma once

#include "../postgres.hpp"

#include "../stats/tally.hpp"
#include "compiled_claim.hpp"

namespace queue_ext::claim {

// A job as it was before its claim.
struct ReadyJob
{
	bool is_known;    // false: the table's columns do not tell
	bool was_leased;  // the lease of another claim has ended, and nobody has given the job back
	TimestampTz when; // it was ready from then on
};

// Such a job, from its columns.
inline ReadyJob
ready_job(TimestampTz run_at, bool was_leased, TimestampTz leased_until)
{
	return {true, was_leased, was_leased ? Max(run_at, leased_until) : run_at};
}

// An attached queue's job, of that row, if the column tells. Nobody knows whether it was claimed before.
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
	if (!claim->has_columns)
		return attached_job_in(claim->ready_at, row);
	bool is_null;
	bool is_free;
	const Datum run_at = slot_getattr(row, claim->run_at, &is_null);
	const Datum lease = slot_getattr(row, claim->leased_until, &is_free);
	return ready_job(DatumGetTimestampTz(run_at), !is_free,
					 is_free ? 0 : DatumGetTimestampTz(lease));
}

// Counts the claim of a job that was claimed at that time. Of a job that has always been ready nobody
// knows how long it has waited: it counts as none. Raises 53200.
inline void
count_ready(definition::Definition *definition, const ReadyJob &job, TimestampTz call_time)
{
	stats::Tally *tally = job.is_known ? stats::tally_of(definition) : nullptr;
	if (tally == nullptr)
		return;
	if (job.was_leased)
		tally->counts.add(stats::Counter::expired, 1);
	stats::add_duration(&tally->counts.waiting,
						TIMESTAMP_NOT_FINITE(job.when) ? 0 : call_time - job.when);
}

} // namespace queue_ext::claim
