// news.cpp - see news.hpp.

#include "../postgres.hpp"

#include "news.hpp"

#include "../ring/due_rows.hpp"
#include "../ring/shared_memory.hpp"
#include "../statement/row_type.hpp"
#include "candidate_row.hpp"
#include "claim_text.hpp"
#include "compiled_claim.hpp"
#include "cursor_row.hpp"
#include "row_context.hpp"
#include "writer.hpp"

namespace queue_ext::claim {

using definition::ClaimMode;
using definition::Definition;
using ring::Candidate;
using ring::DueJob;
using ring::Entered;
using ring::Holding;
using ring::Placed;
using ring::Ring;
using ring::RingKey;
using ring::Taken;
using ring::Version;
using ring::Wakes;
using ring::log_size;
using ring::most_due_at_once;
using ring::most_placed;
using ring::no_kind;
using ring::too_many_events;

// Leaves out those whose row version is not there any more, as a newer one may stand in the ring; returns how many are left.
// Those stay that only this transaction does not see, as they may be there again after its end.
static int
keep_current(const definition::Definition *definition, Candidate *candidates, int count)
{
	Relation table = table_open(definition->source, NoLock);
	CandidateRow row =
		open_candidate_row(table, ring_claim_of(definition), GetCurrentCommandId(false));
	int kept = 0;
	for (int i = 0; i < count; i++) {
		Candidate candidate = candidates[i];
		if (fetch(&row, &candidate) || fetch_removed_here(&row, &candidate))
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
	const RingKey &key = ring_claim_of(definition)->key;
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

// Makes candidates, or news, of the rows that are due by that time, but for those that are not there any more: jobs that
// were finished, or whose lease was extended. Returns whether more may be due: the news of these come first, as the log holds
// few.
static bool
admit_due(const Definition *definition, Ring *ring, TimestampTz now)
{
	const bool is_sorted = ring_claim_of(definition)->key.is_sorted;
	// Read without the spinlock: take() asks under it, and has the queue swept for a row that is missed here.
	while ((is_sorted || ring_claim_of(definition)->due != nullptr) &&
		   first_due(ring->due_rows) <= now) {
		CHECK_FOR_INTERRUPTS();
		HOLD_INTERRUPTS(); // an ERROR resumes
		admit_some(definition, ring, now);
		RESUME_INTERRUPTS();
		if (!is_sorted)
			return first_due(ring->due_rows) <= now;
	}
	return false;
}

namespace {

// The values of a row's order columns.
struct OrderPlace
{
	Datum *values;
};

// A pending row whose version is in the log.
struct PendingRow
{
	Candidate candidate;
	OrderPlace place;
};

// How a column of the order is compared.
struct Comparison
{
	FmgrInfo *function;
	Oid collation;
	bool is_descending;
};

// What one look at the news needs.
struct Reader
{
	const RingClaim *claim;
	CandidateRow row;
	Comparison *comparisons;
	ExprContext *evaluation;     // of pending; null: it is not asked here
	bool is_borrowed;            // it is the caller's
	DueJob to_come[most_placed]; // those that are not pending, and become so by the clock
	int to_come_count;
	Holding *holding;
	OrderPlace *places; // of the candidates in holding; no values: not read yet
};

} // namespace

static int
compare(const Reader *reader, const OrderPlace &one, const OrderPlace &other)
{
	for (int i = 0; i < reader->claim->order_count; i++) {
		const Comparison &comparison = reader->comparisons[i];
		const int found = DatumGetInt32(FunctionCall2Coll(comparison.function, comparison.collation,
														  one.values[i], other.values[i]));
		if (found != 0)
			return comparison.is_descending ? -found : found;
	}
	return 0;
}

static Comparison *
comparisons_for(const RingClaim *claim, Relation table)
{
	auto *comparisons = static_cast<Comparison *>(palloc(sizeof(Comparison) * claim->order_count));
	for (int i = 0; i < claim->order_count; i++) {
		const Form_pg_attribute column =
			TupleDescAttr(RelationGetDescr(table), claim->order_columns[i].number - 1);
		TypeCacheEntry *type = lookup_type_cache(column->atttypid, TYPECACHE_CMP_PROC_FINFO);
		comparisons[i] = {&type->cmp_proc_finfo, column->attcollation,
						  claim->order_columns[i].is_descending};
	}
	return comparisons;
}

// Policies are for the claim to ask; and a call further up the stack may be using the expressions, unless they are the
// caller's own. Sets the request's clock, by which rows are pending.
static ExprContext *
evaluation_for(Definition *definition, Request *request, ExprContext *own)
{
	const RingClaim *claim = ring_claim_of(definition);
	if (claim->pending == nullptr || claim->has_policies ||
		(own == nullptr && row::is_in_use(&claim->use)))
		return nullptr;
	request->call_time = GetCurrentTimestamp();
	if (own != nullptr) {
		set_clock(own, request->call_time);
		return own;
	}
	return make_evaluation(claim, arguments_for(definition, *request));
}

// Whether the row that was read is pending. If not, it may become so by the clock.
static bool
evaluate(Reader *reader, const RingClaim *claim, TransactionId writer)
{
	const bool is_it = is_pending(claim, reader->evaluation, reader->row.slot);
	if (!is_it && claim->due != nullptr)
		reader->to_come[reader->to_come_count++] = {
			due_row_of(claim, reader->evaluation, reader->row.slot, writer), no_kind};
	return is_it;
}

// Where that is not asked here, the claim asks.
static bool
may_be_pending(Reader *reader, Definition *definition, TransactionId writer)
{
	RingClaim *claim = ring_claim_of(definition);
	if (reader->evaluation == nullptr)
		return true;
	ResetExprContext(reader->evaluation);
	RowContext context;
	begin_context(&context, definition, act_of(ClaimStatement::any_pending));
	context.row = reader->row.slot;
	bool is_it = false;
	if (reader->is_borrowed)
		is_it = evaluate(reader, claim, writer);
	else
		row::with_use(&claim->use, [&] { is_it = evaluate(reader, claim, writer); });
	end_context(&context);
	return is_it;
}

// That of the row that was read last; none, if a column is null, as one is that is not stored.
static OrderPlace
copy_place(const Reader *reader)
{
	const RingClaim *claim = reader->claim;
	const TupleDesc descriptor = RelationGetDescr(reader->row.table);
	OrderPlace place{static_cast<Datum *>(palloc(sizeof(Datum) * claim->order_count))};
	for (int i = 0; i < claim->order_count; i++) {
		const AttrNumber number = claim->order_columns[i].number;
		const Form_pg_attribute column = TupleDescAttr(descriptor, number - 1);
		bool is_null;
		const Datum value = slot_getattr(reader->row.slot, number, &is_null);
		if (is_null)
			return {nullptr};
		place.values[i] = datumCopy(value, column->attbyval, column->attlen);
	}
	return place;
}

// False if the bytes of the cursor are no row of the table.
static bool
read_cursor(const Reader *reader, OrderPlace *place)
{
	const RingClaim *claim = reader->claim;
	Datum row;
	if (reader->holding->cursor.size == 0 || !make_row(claim, reader->holding->cursor, &row))
		return false;
	HeapTupleData tuple = statement::tuple_of(row);
	place->values = static_cast<Datum *>(palloc(sizeof(Datum) * claim->order_count));
	for (int i = 0; i < claim->order_count; i++) {
		bool is_null;
		place->values[i] = heap_getattr(&tuple, claim->order_columns[i].number,
										RelationGetDescr(reader->row.table), &is_null);
		if (is_null)
			return false;
	}
	return true;
}

// Reads the candidate at that index of the ring. False if its row has changed since.
static bool
read_place(Reader *reader, int index)
{
	OrderPlace *place = &reader->places[index];
	if (place->values == nullptr && fetch(&reader->row, &reader->holding->candidates[index]))
		*place = copy_place(reader);
	return place->values != nullptr;
}

// The index of the first candidate of the ring that comes behind the row; equals come before it, as they came
// earlier. Those that cannot be read are passed by.
static int
find_next(Reader *reader, const OrderPlace &place)
{
	int low = 0;
	int high = reader->holding->count;
	// As it is for most that come late.
	if (high > 0 && read_place(reader, high - 1) &&
		compare(reader, place, reader->places[high - 1]) >= 0)
		return high;
	while (low < high) {
		CHECK_FOR_INTERRUPTS();
		const int middle = (low + high) / 2;
		int probe = middle;
		while (probe < high && !read_place(reader, probe))
			probe++;
		if (probe == high || compare(reader, place, reader->places[probe]) < 0)
			high = middle;
		else
			low = probe + 1;
	}
	return low;
}

// Since when an attached queue's row has been ready, if it says so.
static void
set_ready_at(const Reader *reader, Candidate *candidate)
{
	if (reader->claim->ready_at == InvalidAttrNumber)
		return;
	bool is_null;
	const Datum ready_at = slot_getattr(reader->row.slot, reader->claim->ready_at, &is_null);
	if (!is_null)
		candidate->run_at = DatumGetTimestampTz(ready_at);
}

// Whether it is among those that were read: the transaction that had taken the row had written it, too. In the ring twice it
// would leave it open before which of the two others come.
static bool
is_told(const PendingRow *told, int count, const Candidate &candidate)
{
	for (int i = 0; i < count; i++)
		if (told[i].candidate.is_same_as(candidate))
			return true;
	return false;
}

// Reads those that are still there, and pending, and that no fill will read; also those that only this transaction does not
// see any more, as they may be there again after its end. *count: of those. False if it is not known where the fills or
// the rows stand.
static bool
read_told(Reader *reader, Definition *definition, const Version *versions, int version_count,
		  PendingRow *told, int *count)
{
	RingClaim *claim = ring_claim_of(definition);
	const bool is_at_end = reader->holding->is_at_end;
	OrderPlace cursor{};
	if (!is_at_end && !read_cursor(reader, &cursor))
		return false;
	*count = 0;
	for (int i = 0; i < version_count; i++) {
		CHECK_FOR_INTERRUPTS();
		Candidate candidate =
			ring::attached_candidate(versions[i].tid, versions[i].writer, claim->key.table);
		if (is_told(told, *count, candidate))
			continue;
		if (!fetch(&reader->row, &candidate) && !fetch_removed_here(&reader->row, &candidate))
			continue;
		const OrderPlace place = copy_place(reader);
		const bool is_before =
			is_at_end || (place.values != nullptr && compare(reader, place, cursor) <= 0);
		// What a fill will read is not evaluated here: it may raise. Nor is a row to come listed, as the ring is not quiet
		// before a sweep has read to the end, which asks for these.
		if (place.values != nullptr && !is_before)
			continue;
		if (!may_be_pending(reader, definition, versions[i].writer))
			continue;
		if (place.values == nullptr)
			return false;
		set_ready_at(reader, &candidate);
		told[(*count)++] = {candidate, place};
	}
	return true;
}

static int
compare_told(const void *left, const void *right, void *reader)
{
	return compare(static_cast<const Reader *>(reader),
				   static_cast<const PendingRow *>(left)->place,
				   static_cast<const PendingRow *>(right)->place);
}

// Finds the place of each. The order of equals is that of the events, as far as the sort keeps it.
static Placed *
place_all(Reader *reader, PendingRow *told, int count)
{
	auto *placed = static_cast<Placed *>(palloc0(sizeof(Placed) * Max(count, 1)));
	qsort_arg(told, count, sizeof(PendingRow), compare_told, reader);
	for (int i = 0; i < count; i++) {
		const int next = find_next(reader, told[i].place);
		placed[i].candidate = told[i].candidate;
		placed[i].is_last = next == reader->holding->count;
		if (!placed[i].is_last)
			placed[i].next = reader->holding->candidates[next];
	}
	return placed;
}

static Reader
open_reader(Definition *definition, Request *request, ExprContext *evaluation, Holding *holding)
{
	Reader reader{};
	reader.claim = ring_claim_of(definition);
	Relation table = table_open(definition->source, NoLock);
	reader.row = open_candidate_row(table, reader.claim, GetCurrentCommandId(false));
	reader.comparisons = comparisons_for(reader.claim, table);
	reader.evaluation = evaluation_for(definition, request, evaluation);
	reader.is_borrowed = evaluation != nullptr;
	reader.holding = holding;
	reader.places = static_cast<OrderPlace *>(palloc0(sizeof(OrderPlace) * Max(holding->count, 1)));
	return reader;
}

static void
close_reader(Reader *reader)
{
	if (reader->evaluation != nullptr && !reader->is_borrowed)
		FreeExprContext(reader->evaluation, true);
	close_candidate_row(&reader->row);
	table_close(reader->row.table, NoLock);
}

namespace {

// What came of one look.
enum class Outcome {
	done,
	more,           // events are left
	read_meanwhile, // the ring was: its state is to be read again
	too_many,       // for the log
};

} // namespace

static Outcome
admit(Definition *definition, Ring *ring, Request *request, ExprContext *evaluation)
{
	RingClaim *claim = ring_claim_of(definition);
	const RingKey key = claim->key;
	Version versions[log_size];
	PendingRow told[most_placed];
	// Read without the spinlock, as a hint, so that the ring is copied only if the log has what it lacks.
	const uint32 from = ring->sweep.wake_generation;
	const int known =
		read_log(definition->source, ring::get_wakes(definition->source), from, versions);
	if (known == too_many_events)
		return Outcome::too_many;
	if (known <= 0)
		return Outcome::done;
	// Touched before it is written to under the spinlock.
	auto *holding = static_cast<Holding *>(palloc0(sizeof(Holding)));
	if (!copy_holding(ring, key, holding) || !holding->is_settled)
		return Outcome::done;
	if (holding->wake_generation != from)
		return Outcome::read_meanwhile;
	const int taken = Min(known, most_placed);
	Reader reader = open_reader(definition, request, evaluation, holding);
	int count;
	Outcome outcome = Outcome::done;
	if (read_told(&reader, definition, versions, taken, told, &count)) {
		// Before the ring takes note of the events.
		expect_rows(ring, key, reader.to_come, reader.to_come_count);
		const Entered entered =
			enter_placed(ring, key, *holding, place_all(&reader, told, count), count, from + taken,
						 definition->claim_mode == ClaimMode::update);
		outcome = entered == Entered::all    ? Outcome::more
				  : entered == Entered::none ? Outcome::read_meanwhile
											 : Outcome::done;
	}
	close_reader(&reader);
	return outcome;
}

// Enters the pending rows whose versions are in the log into a ring that is not sorted.
static News
admit_news(Definition *definition, Ring *ring, Request *request, ExprContext *evaluation)
{
	constexpr int most_tries = log_size / most_placed + 3;
	const RingClaim *claim = ring_claim_of(definition);
	if (!claim->has_readable_order)
		return News::all;
	Wakes *wakes = ring::get_wakes(definition->source);
	Outcome outcome = Outcome::more;
	// Read without the spinlock: what comes now is news for the next call.
	for (int i = 0;
		 i < most_tries && (outcome == Outcome::more || outcome == Outcome::read_meanwhile) &&
		 ring->sweep.wake_generation != pg_atomic_read_u32(&wakes->generation);
		 i++) {
		MemoryContext own =
			AllocSetContextCreate(CurrentMemoryContext, "queue_ext news", ALLOCSET_DEFAULT_SIZES);
		MemoryContext former = MemoryContextSwitchTo(own);
		outcome = admit(definition, ring, request, evaluation);
		MemoryContextSwitchTo(former);
		MemoryContextDelete(own);
	}
	return outcome == Outcome::too_many ? News::more_than_known : News::all;
}

News
admit_all(Definition *definition, Ring *ring, Request *request, ExprContext *evaluation)
{
	bool has_more = true;
	News news = News::all;
	while (has_more) {
		has_more = admit_due(definition, ring, request->call_time);
		news = admit_news(definition, ring, request, evaluation);
	}
	return news;
}

} // namespace queue_ext::claim
