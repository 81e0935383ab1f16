// due.cpp - see due.hpp.

#include "../postgres.hpp"

#include "due.hpp"

#include "../ring/due_rows.hpp"
#include "../ring/shared_memory.hpp"
#include "candidate_row.hpp"
#include "compiled_claim.hpp"

namespace queue_ext::claim {

using ring::Candidate;
using ring::Ring;
using ring::RingKey;
using ring::Taken;
using ring::Version;
using ring::most_due_at_once;

// Leaves out those whose row version is not there any more; returns how many are left. What only this transaction does
// not see may be there again after its end, so where it has written, all stay: claimers pass over those that are gone.
static int
keep_current(const definition::Definition *definition, Candidate *candidates, int count)
{
	if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return count;
	Relation table = table_open(definition->source, NoLock);
	CandidateRow row = open_candidate_row(table, definition->claim, GetCurrentCommandId(false));
	int kept = 0;
	for (int i = 0; i < count; i++) {
		Candidate candidate = candidates[i];
		if (fetch(&row, &candidate))
			candidates[kept++] = candidate;
	}
	close_candidate_row(&row);
	table_close(table, NoLock);
	return kept;
}

// Has the next read of the news find places for those of a ring that is not sorted.
static void
tell_due(const RingKey &key, const Candidate *candidates, int count)
{
	Version versions[most_due_at_once];
	for (int i = 0; i < count; i++)
		versions[i] = {candidates[i].tid, candidates[i].version.writer};
	tell_versions(key.table, ring::get_wakes(key.table), versions, count);
}

// Admits some of them. No interrupt is heeded, as a backend that is ended here would leave them to the next sweep.
static void
admit_some(const definition::Definition *definition, Ring *ring, TimestampTz now)
{
	const RingKey &key = definition->claim->key;
	Candidate candidates[most_due_at_once];
	const Taken taken = take_due(ring, key, now, candidates);
	if (taken.count == 0)
		return;
	volatile int kept = 0;
	PG_TRY();
	{
		kept = keep_current(definition, candidates, taken.count);
	}
	PG_CATCH();
	{
		ask_for_sweep(ring, key);
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (key.is_sorted)
		sort_candidates(candidates, kept);
	else
		tell_due(key, candidates, kept);
	admit(ring, key, candidates, key.is_sorted ? kept : 0, taken);
}

bool
admit_due(const definition::Definition *definition, Ring *ring, TimestampTz now)
{
	const bool is_sorted = definition->claim->key.is_sorted;
	// Read without the spinlock: take() asks under it, and has the queue swept for what is missed here.
	while ((is_sorted || definition->claim->due != nullptr) && first_due(ring->due_rows) <= now) {
		CHECK_FOR_INTERRUPTS();
		HOLD_INTERRUPTS(); // an ERROR resumes
		admit_some(definition, ring, now);
		RESUME_INTERRUPTS();
		if (!is_sorted)
			return first_due(ring->due_rows) <= now;
	}
	return false;
}

} // namespace queue_ext::claim
