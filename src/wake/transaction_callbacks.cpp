// transaction_callbacks.cpp - see transaction_callbacks.hpp.

#include "../postgres.hpp"

#include "transaction_callbacks.hpp"

#include "../ring/shared_memory.hpp"
#include "note.hpp"
#include "unfinished.hpp"

namespace queue_ext::wake {

using ring::Candidate;
using ring::KindRing;
using ring::Ring;
using ring::RingKey;
using ring::SortKey;
using ring::Version;
using ring::log_size;
using ring::most_kind_rings;
using ring::unknown_kind;

// Whether the commit makes rows claimable. A lease, which is in a ring's note, does not.
static bool
has_wake(const Note *note)
{
	return note->ring == nullptr &&
		   (note->wakes || note->versions.count > 0 || note->offered.count > 0 ||
			note->has_more_offered || note->due != PG_INT64_MAX);
}

// Whether all that the commit makes claimable are versions, which go into the log.
static bool
has_versions_alone(const Note *note)
{
	return note->versions.count > 0 && !note->wakes && note->offered.count == 0 &&
		   !note->has_more_offered && note->due == PG_INT64_MAX;
}

// Whether no candidate has the sort key of the one before, or a lower one.
static bool
is_sorted(const CandidateList &candidates)
{
	for (int i = 1; i < candidates.count; i++)
		if (!(candidates.elements[i - 1].sort_key() < candidates.elements[i].sort_key()))
			return false;
	return true;
}

namespace {

// A candidate, by where it stands.
struct Place
{
	const Candidate *candidate;
};

} // namespace

// By sort key; then in the order in which they stand.
static int
compare_places(const void *left, const void *right)
{
	const Candidate *one = static_cast<const Place *>(left)->candidate;
	const Candidate *other = static_cast<const Place *>(right)->candidate;
	const SortKey one_key = one->sort_key();
	const SortKey other_key = other->sort_key();
	if (one_key == other_key)
		return one < other ? -1 : 1;
	return one_key < other_key ? -1 : 1;
}

// Puts the offers into the order of their sort keys, each row's last one only: an offer must find
// them so, and has no memory to do it. Raises 53200.
static void
sort_offers(CandidateList *offered)
{
	if (is_sorted(*offered))
		return;
	const int count = offered->count;
	auto *places =
		static_cast<Place *>(MemoryContextAlloc(TopTransactionContext, sizeof(Place) * count));
	auto *sorted = static_cast<Candidate *>(
		MemoryContextAlloc(TopTransactionContext, sizeof(Candidate) * count));
	for (int i = 0; i < count; i++)
		places[i].candidate = &offered->elements[i];
	qsort(places, count, sizeof(Place), compare_places);
	offered->count = 0;
	for (int i = 0; i < count; i++) {
		const bool is_newer =
			i > 0 && sorted[offered->count - 1].sort_key() == places[i].candidate->sort_key();
		sorted[is_newer ? offered->count - 1 : offered->count++] = *places[i].candidate;
	}
	memcpy(offered->elements, sorted, sizeof(Candidate) * offered->count);
	pfree(places);
	pfree(sorted);
}

// A row that is not yet due is not put into the ring, but comes to be due there. Raises 53200.
static void
set_future_offers_apart(Note *note)
{
	const TimestampTz now = GetCurrentTimestamp();
	int count = 0;
	for (int i = 0; i < note->offered.count; i++) {
		const Candidate offer = note->offered.elements[i];
		if (offer.run_at <= now) {
			note->offered.elements[count++] = offer;
			continue;
		}
		note->due = Min(note->due, offer.run_at);
		add_to_come(note, {{offer, offer.run_at}, note->key.variant});
	}
	note->offered.count = count;
}

// Whether a queue of the table has ended since the transaction began to claim from one. One that ends after the commit has
// become visible has the rings swept later.
static bool
has_lost_queue(const Note *note)
{
	return note->claims && pg_atomic_read_u32(&note->shared->ended) != note->ended;
}

// Counts the transaction as under way before its rows become visible, so that no backend trusts an
// idle ring until it has been told.
static void
count_under_way(Note *note)
{
	if (!has_wake(note) && !note->is_beside && !has_lost_queue(note))
		return;
	set_future_offers_apart(note);
	sort_offers(&note->offered);
	note->is_in_order = true;
	pg_atomic_fetch_add_u32(&note->shared->under_way, 1);
	note->is_under_way = true;
}

// How many places the list of the table's rings for kinds has; 0 where there are no such rings.
static int
kind_places(const Note *note)
{
	return pg_atomic_read_u32(&note->shared->has_kinds) == 0 ? 0 : most_kind_rings;
}

// Whether there may be sorted rings of the table that are not known.
static bool
is_partial(const Note *note)
{
	return kind_places(note) > 0 && pg_atomic_read_u32(&note->shared->is_partial) != 0;
}

// Makes all rings of the table sweep.
static void
wake_table(const Note *note)
{
	wake_table(note->key.table, note->shared);
}

// Tells a ring of the rows to come. Must not raise.
static void
tell_to_come(Ring *ring, const RingKey &key, const Note *note)
{
	expect_rows(ring, key, note->to_come.elements, note->to_come.count);
	if (note->unlisted != PG_INT64_MAX)
		expect(ring, key, note->unlisted);
}

// Tells a ring of the offers and of the rows to come. Must not raise.
static void
tell(Ring *ring, const RingKey &key, const Note *note)
{
	if (note->offered.count > 0)
		offer(ring, key, note->offered.elements, note->offered.count);
	if (note->has_more_offered)
		offer_from(ring, key, note->more_offered);
	tell_to_come(ring, key, note);
}

// Tells the rings for the kind of the rows of the offers and of the rows to come. Where the kind is not
// known, all rings for kinds are asked for a sweep instead of the offers. False if there is no ring for any
// kind. Must not raise.
static bool
tell_kinds(const Note *note)
{
	bool is_any = false;
	for (int i = 0; i < kind_places(note); i++) {
		const KindRing found = kind_ring_of(note->key.table, note->shared, i, note->key.variant);
		is_any |= found.ring != nullptr;
		if (found.ring == nullptr || !found.is_for_kind)
			continue;
		if (note->key.variant != unknown_kind)
			tell(found.ring, found.key, note);
		else {
			if (note->offered.count > 0 || note->has_more_offered)
				ask_for_sweep(found.ring, found.key);
			tell_to_come(found.ring, found.key, note);
		}
	}
	return is_any;
}

// Tells the rings what the transaction has made claimable. Runs after the commit, so it must not
// raise.
static void
wake(const Note *note)
{
	if (has_versions_alone(note)) {
		tell_versions(note->key.table, note->shared, note->versions.elements, note->versions.count);
		return;
	}
	RingKey key;
	Ring *ring = find_sorted_ring(note->key.table, &key);
	if (ring != nullptr)
		tell(ring, key, note);
	const bool is_any_told = tell_kinds(note) || ring != nullptr;
	if (note->wakes || note->versions.count > 0 || !is_any_told || is_partial(note))
		wake_table(note);
}

// Makes the list of the candidates that this transaction has locked and that the commit leaves as
// they are, where the claims end with it. Of a row that the transaction has changed the candidate is
// good for nothing; one that was tried in vain is left to the next sweep, as in mode update. Raises
// 53200, and what reading the rows raises.
static void
find_left(Note *note)
{
	if (note->ring == nullptr || !note->is_until_end || note->taken.count == 0)
		return;
	const size_t size = sizeof(Candidate) * note->taken.count;
	note->left.elements = static_cast<Candidate *>(MemoryContextAlloc(TopTransactionContext, size));
	memcpy(note->left.elements, note->taken.elements, size);
	note->left.count = keep_unfinished(note->left.elements, note->taken.count);
}

// Calls visit(ring, key) for each sorted ring of the table that is known and may have jobs of that kind.
template <typename Visit>
static void
visit_sorted(const Note *note, uint64 kind, Visit &&visit)
{
	RingKey key;
	Ring *ring = find_sorted_ring(note->key.table, &key);
	if (ring != nullptr)
		visit(ring, key);
	for (int i = 0; i < kind_places(note); i++) {
		const KindRing found = kind_ring_of(note->key.table, note->shared, i, kind);
		if (found.ring != nullptr && found.is_for_kind)
			visit(found.ring, found.key);
	}
}

// That of all rows to come, if they have one.
static uint64
common_kind(const Note *note)
{
	if (note->to_come.count == 0 || note->unlisted != PG_INT64_MAX)
		return unknown_kind;
	const uint64 kind = note->to_come.elements[0].kind;
	for (int i = 1; i < note->to_come.count; i++)
		if (note->to_come.elements[i].kind != kind)
			return unknown_kind;
	return kind;
}

// Tells the note's ring of the ends of the leases that were taken from it, and the other rings of the table that may
// have these jobs. Must not raise.
static void
tell_leases(const Note *note)
{
	tell_to_come(note->ring, note->key, note);
	if (kind_places(note) == 0)
		return;
	visit_sorted(note, common_kind(note), [&](Ring *ring, const RingKey &key) {
		if (ring != note->ring)
			tell_to_come(ring, key, note);
	});
}

// Puts the versions of candidates that have lost their places in a ring that is not sorted into the log; where
// they do not fit, requests a sweep.
static void
tell_lost(const Note *note, const CandidateList &candidates)
{
	Version versions[log_size];
	bool fits = candidates.count <= log_size;
	for (int i = 0; i < candidates.count && fits; i++) {
		const Candidate &candidate = candidates.elements[i];
		versions[i] = {candidate.tid, candidate.version.writer};
		fits = candidate.version.table == note->key.table;
	}
	if (fits)
		tell_versions(note->key.table, note->shared, versions, candidates.count);
	else
		ask_for_sweep(note->ring, note->key);
}

static int
by_tid(const void *left, const void *right)
{
	const auto *one = static_cast<const Candidate *>(left);
	const auto *other = static_cast<const Candidate *>(right);
	if (one->version.table != other->version.table)
		return one->version.table < other->version.table ? -1 : 1;
	return ItemPointerCompare(const_cast<ItemPointer>(&one->tid),
							  const_cast<ItemPointer>(&other->tid));
}

// Each once: a sweep reads the rows again that the transaction has locked, which takes them again, and passes them by. A row
// that is told twice would stand twice in the ring, and others could not be placed by it. Loses their order.
static void
leave_out_twins(CandidateList *candidates)
{
	qsort(candidates->elements, candidates->count, sizeof(Candidate), by_tid);
	int kept = 0;
	for (int i = 0; i < candidates->count; i++)
		if (i == 0 || by_tid(&candidates->elements[i], &candidates->elements[kept - 1]) != 0)
			candidates->elements[kept++] = candidates->elements[i];
	candidates->count = kept;
}

// Puts back what this transaction has made claimable by ending. Must not raise.
static void
give_back(const Note *note, CandidateList candidates)
{
	if (note->key.is_sorted)
		sort_candidates(candidates.elements, candidates.count);
	else if (note->is_scattered)
		leave_out_twins(&candidates);
	if (note->is_scattered ||
		!put_back(note->ring, note->key, candidates.elements, candidates.count, note->generation))
		tell_lost(note, candidates);
}

// Rings of other callers, or of some kinds, may have passed by the rows that are claimable again.
static void
tell_other_callers(const Note *note)
{
	if (note->key.variant != 0 || kind_places(note) > 0)
		wake_table(note);
}

// Ends claims by row locks. Must not raise.
static void
unlock(const Note *note)
{
	if (note->left.count == 0)
		return;
	give_back(note, note->left);
	tell_other_callers(note);
}

static void
let_all_go(const Note *note)
{
	if (note->in_flight > 0)
		let_go(note->ring, note->key, note->in_flight, note->flight_sweep);
	if (note->has_more_taken)
		ask_for_sweep(note->ring, note->key);
}

// Announces rows that were written: others may have passed them by, as they were locked. When a row is due that is
// leased for longer, the rings know. Must not raise.
static void
undo_writes(const Note *note)
{
	if (is_over(note->undone_due))
		wake_table(note);
	else
		tell_versions(note->key.table, note->shared, note->replaced.elements, note->replaced.count);
}

// Undoes what the note says. Must not raise.
static void
after_abort(const Note *note)
{
	if (note->ring == nullptr) {
		undo_writes(note);
		return;
	}
	let_all_go(note);
	give_back(note, note->taken);
	if (note->has_own_fill)
		doubt_contents(note->ring, note->key);
	if (note->taken.count > 0)
		tell_other_callers(note);
}

// Comes before the queues that are left are told to sweep.
static void
count_end(const Note *note)
{
	if (note->ends)
		pg_atomic_fetch_add_u32(&note->shared->ended, 1);
}

// Must not raise: the transaction has committed.
static void
after_commit(const Note *note)
{
	count_end(note);
	if (note->ends)
		ring::dismiss_waiting(note->key.table);
	if (note->ring == nullptr)
		ring::tell_ends(note->shared);
	// A callback of another extension may have written after ours had put the offers in order.
	if (has_wake(note) && (note->is_in_order || note->offered.count == 0))
		wake(note);
	else if (has_wake(note))
		wake_table(note);
	if (note->has_moved || is_over(note->death) || has_lost_queue(note))
		wake_table(note);
	if (note->ring != nullptr && note->due != PG_INT64_MAX)
		tell_leases(note);
	// Where the claim was a row lock it has ended.
	if (note->ring != nullptr && note->is_until_end) {
		let_all_go(note);
		unlock(note);
	}
}

// Comes after the rings have been told: is_idle() (claim/drain.cpp) reads in the opposite order.
static void
withdraw(const Note *note)
{
	if (note->is_under_way)
		pg_atomic_fetch_sub_u32(&note->shared->under_way, 1);
}

// The memory of the notes goes with TopTransactionContext.
static void
on_transaction_end(XactEvent event, void *)
{
	switch (event) {
		case XACT_EVENT_PRE_COMMIT:
			for (Note *note = notes; note != nullptr; note = note->next) {
				find_left(note);
				count_under_way(note);
			}
			return;
		case XACT_EVENT_COMMIT:
			for (const Note *note = notes; note != nullptr; note = note->next)
				after_commit(note);
			break;
		case XACT_EVENT_ABORT:
			for (const Note *note = notes; note != nullptr; note = note->next)
				after_abort(note);
			break;
		case XACT_EVENT_PREPARE:
			// No callback runs when a prepared transaction ends: sweeps find its rows.
			for (const Note *note = notes; note != nullptr; note = note->next) {
				count_end(note);
				wake_table(note);
			}
			break;
		default:
			return;
	}
	for (const Note *note = notes; note != nullptr; note = note->next)
		withdraw(note);
	notes = nullptr;
}

// A rollback is carried out at once, and so need not wait for the transaction's end.
static void
on_subtransaction_end(SubXactEvent event, SubTransactionId ended, SubTransactionId parent, void *)
{
	if (event == SUBXACT_EVENT_PRE_COMMIT_SUB)
		hand_to_parent(ended, parent);
	if (event != SUBXACT_EVENT_ABORT_SUB)
		return;
	while (notes != nullptr && notes->made_in == ended) {
		after_abort(notes);
		drop_first();
	}
}

void
register_transaction_callbacks()
{
	RegisterXactCallback(on_transaction_end, nullptr);
	RegisterSubXactCallback(on_subtransaction_end, nullptr);
}

} // namespace queue_ext::wake
