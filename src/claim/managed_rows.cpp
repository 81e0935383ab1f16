// managed_rows.cpp - see managed_rows.hpp.

#include "../postgres.hpp"

#include "managed_rows.hpp"

#include "../row/index_scan.hpp"

namespace queue_ext::claim {

using ring::Candidate;
using ring::DueJob;
using ring::Kinds;
using ring::SortKey;
using ring::no_kind;

namespace {

constexpr int sort_columns = 3;
constexpr SortKey before_all = {PG_INT16_MIN, DT_NOBEGIN, PG_INT64_MIN};

// The table, the index that it is read by, and the time by which jobs are judged ready.
struct Reader
{
	const RingClaim *claim;
	Relation table;
	Relation index;
	Snapshot snapshot;
	TimestampTz now;
};

// The jobs of one kind, or all, and where its read stands.
struct Part
{
	const text *kind; // null: all
	row::IndexScan scan;
	ScanKeyData bound[sort_columns]; // where the scan began
	SortKey entry;
	int32 passed; // the priority of the last entries passed by
	int passed_count;
	bool has_scheduled; // it has passed by such jobs
	bool is_at_end;
};

struct Parts
{
	Part *list;
	int count;
};

} // namespace

// On ERROR the resource owner closes all of it.
static Reader
open_reader(const RingClaim *claim, Snapshot snapshot, TimestampTz now)
{
	Reader reader{};
	reader.claim = claim;
	reader.table = table_open(claim->key.table, AccessShareLock);
	reader.index =
		index_open(claim->kinds == nullptr ? claim->managed.index : claim->managed.kind_index,
				   AccessShareLock);
	reader.snapshot = snapshot;
	reader.now = now;
	return reader;
}

static void
close_reader(const Reader &reader)
{
	index_close(reader.index, NoLock);
	table_close(reader.table, NoLock);
}

// A bound of the order, as the row comparison of a scan key. first: the number of the index column that has the
// priority.
static ScanKeyData
row_bound(Part *part, StrategyNumber strategy, const SortKey &key, AttrNumber first)
{
	const struct
	{
		Oid type;
		RegProcedure compare;
		Datum value;
	} columns[sort_columns] = {
		{INT2OID, F_BTINT2CMP, Int16GetDatum(static_cast<int16>(key.priority))},
		{TIMESTAMPTZOID, F_TIMESTAMPTZ_CMP, TimestampTzGetDatum(key.run_at)},
		{INT8OID, F_BTINT8CMP, Int64GetDatum(key.id)},
	};
	for (int i = 0; i < sort_columns; i++)
		ScanKeyEntryInitialize(&part->bound[i],
							   SK_ROW_MEMBER | (i == sort_columns - 1 ? SK_ROW_END : 0),
							   static_cast<AttrNumber>(first + i), strategy, columns[i].type,
							   InvalidOid, columns[i].compare, columns[i].value);
	ScanKeyData row{};
	row.sk_flags = SK_ROW_HEADER;
	row.sk_attno = first;
	row.sk_strategy = strategy;
	row.sk_argument = PointerGetDatum(part->bound);
	return row;
}

// Begins to read the part at the key, or behind it.
static void
begin_at(Part *part, StrategyNumber strategy, const SortKey &key)
{
	ScanKeyData keys[2];
	int count = 0;
	if (part->kind != nullptr)
		ScanKeyEntryInitialize(&keys[count++], 0, 1, BTEqualStrategyNumber, TEXTOID,
							   C_COLLATION_OID, F_TEXTEQ, PointerGetDatum(part->kind));
	keys[count] = row_bound(part, strategy, key, static_cast<AttrNumber>(count + 1));
	row::restart(part->scan, keys, count + 1);
	part->passed_count = 0;
}

static Part
open_part(const Reader &reader, const text *kind)
{
	Part part{};
	part.kind = kind;
	part.scan =
		row::begin_scan(reader.table, reader.index, reader.snapshot, kind == nullptr ? 1 : 2);
	part.scan.scan->xs_want_itup = true;
	return part;
}

// Behind that key or, where it is null, at the head.
static void
begin(Part *part, const SortKey *behind)
{
	if (behind == nullptr)
		begin_at(part, BTGreaterEqualStrategyNumber, before_all);
	else
		begin_at(part, BTGreaterStrategyNumber, *behind);
}

// One for each of the claim's kinds.
static Parts
open_parts(const Reader &reader, const SortKey *behind)
{
	const Kinds *kinds = reader.claim->kinds;
	Parts parts{nullptr, kinds == nullptr ? 1 : kinds->count};
	parts.list = static_cast<Part *>(palloc(sizeof(Part) * parts.count));
	for (int i = 0; i < parts.count; i++) {
		Part *part = &parts.list[i];
		*part = open_part(reader, kinds == nullptr ? nullptr : kinds->names[i]);
		begin(part, behind);
	}
	return parts;
}

static void
close_parts(const Parts &parts)
{
	for (int i = 0; i < parts.count; i++)
		row::end_scan(parts.list[i].scan);
	pfree(parts.list);
}

// Moves to the next entry; false at the end. No column of the order is null.
static bool
next_entry(Part *part)
{
	if (!row::next_entry(part->scan, ForwardScanDirection))
		return false;
	const IndexScanDesc scan = part->scan.scan;
	const int first = part->kind == nullptr ? 1 : 2;
	const auto value = [&](int column) {
		bool is_null;
		return index_getattr(scan->xs_itup, column, scan->xs_itupdesc, &is_null);
	};
	part->entry = {DatumGetInt16(value(first)), DatumGetTimestampTz(value(first + 1)),
				   DatumGetInt64(value(first + 2))};
	return true;
}

// Passes by an entry that need not be looked at, nor what follows it in its priority. After some of these the read
// begins anew at the next priority: to find that costs as much as some entries.
static void
pass_by(Part *part)
{
	constexpr int patience = 16;
	if (part->entry.priority != part->passed)
		part->passed_count = 0;
	part->passed = part->entry.priority;
	if (++part->passed_count == patience)
		begin_at(part, BTGreaterStrategyNumber, {part->entry.priority, DT_NOEND, PG_INT64_MAX});
}

// DT_NOBEGIN: it is not leased.
static TimestampTz
leased_until(const Reader &reader, const Part *part)
{
	bool is_null;
	const Datum until = slot_getattr(part->scan.row, reader.claim->managed.leased_until, &is_null);
	return is_null ? DT_NOBEGIN : DatumGetTimestampTz(until);
}

static Candidate
candidate_of(const Part *part)
{
	Candidate candidate{};
	candidate.tid = part->scan.row->tts_tid;
	candidate.priority = static_cast<int16>(part->entry.priority);
	candidate.run_at = part->entry.run_at;
	candidate.id = part->entry.id;
	return candidate;
}

namespace {

// The first jobs to come, of those seen so far, and a heap of them with the last one on top.
struct FirstDue
{
	DueJob *jobs;
	binaryheap *heap;

	bool is_full() const
	{
		return heap->bh_size == heap->bh_space;
	}
	DueJob *last() const
	{
		return reinterpret_cast<DueJob *>(DatumGetPointer(binaryheap_first(heap)));
	}
	// A job that is due then, or later, is none of them.
	TimestampTz bound() const
	{
		return is_full() ? last()->row.due : PG_INT64_MAX;
	}
};

} // namespace

static int
compare_due(const void *left, const void *right)
{
	const TimestampTz due = static_cast<const DueJob *>(left)->row.due;
	const TimestampTz other = static_cast<const DueJob *>(right)->row.due;
	return due < other ? -1 : due > other;
}

static int
compare_in_heap(Datum left, Datum right, void *)
{
	return compare_due(DatumGetPointer(left), DatumGetPointer(right));
}

// The last one makes room.
static void
add(FirstDue *first, const DueJob &job)
{
	const bool is_full = first->is_full();
	DueJob *place = is_full ? first->last() : &first->jobs[first->heap->bh_size];
	*place = job;
	if (is_full)
		binaryheap_replace_first(first->heap, PointerGetDatum(place));
	else
		binaryheap_add(first->heap, PointerGetDatum(place));
}

static FirstDue
begin_first(DueJob *jobs, int most)
{
	return {jobs, binaryheap_allocate(most, compare_in_heap, nullptr)};
}

// Sorts them, and returns their number.
static int
end_first(const FirstDue &first)
{
	const int count = first.heap->bh_size;
	binaryheap_free(first.heap);
	qsort(first.jobs, count, sizeof(DueJob), compare_due);
	return count;
}

static uint64
kind_of(const Reader &reader)
{
	const Kinds *kinds = reader.claim->kinds;
	return kinds == nullptr ? no_kind : kinds->hashes[0];
}

// Whether the entry is that of a job to come that is not among the first.
static bool
is_late(const Reader &reader, const Part *part, const FirstDue &first)
{
	return part->entry.run_at > reader.now && part->entry.run_at >= first.bound();
}

// Adds the row's job, if it is to come, and among the first: when its lease has ended and its time has come. Returns whether it is
// to come.
static bool
add_if_to_come(const Reader &reader, const Part *part, TimestampTz until, FirstDue *first)
{
	const TimestampTz due = Max(part->entry.run_at, until);
	if (due <= reader.now)
		return false;
	if (due < first->bound())
		add(first, {{candidate_of(part), due}, kind_of(reader)});
	return true;
}

// Whether the job of the row has expired by the time at which rows are judged. A claim passes it by, too, and asks for those
// that expire later.
static bool
has_expired(const Reader &reader, const Part *part)
{
	return expiry_of(reader.claim->expiry, part->scan.row) <= reader.now;
}

// Moves to the next job that is ready, and notes the leased ones that it passes by.
static void
next_ready(const Reader &reader, Part *part, FirstDue *passed)
{
	while (next_entry(part)) {
		if (part->entry.run_at > reader.now) {
			part->has_scheduled = true;
			pass_by(part);
		} else if (row::fetch_row(part->scan) &&
				   !add_if_to_come(reader, part, leased_until(reader, part), passed) &&
				   !has_expired(reader, part))
			return;
	}
	part->is_at_end = true;
}

// Notes the scheduled ones, up to the last job that was read; null: all. Not while the parts are merged: one that has no job
// ready for long runs ahead of the others, and what it passes by there a later read does again.
static void
note_scheduled(const Reader &reader, Part *part, const SortKey *behind, const SortKey *last,
			   FirstDue *passed)
{
	begin(part, behind);
	while (next_entry(part) && (last == nullptr || !(*last < part->entry))) {
		if (part->entry.run_at <= reader.now)
			begin_at(part, BTGreaterStrategyNumber,
					 {part->entry.priority, reader.now, PG_INT64_MAX});
		else if (part->entry.run_at >= passed->bound())
			begin_at(part, BTGreaterStrategyNumber, {part->entry.priority, DT_NOEND, PG_INT64_MAX});
		else if (row::fetch_row(part->scan))
			(void) add_if_to_come(reader, part, leased_until(reader, part), passed);
	}
}

// The part that has the first job; null if there is none.
static Part *
first_part(const Parts &parts)
{
	Part *first = nullptr;
	for (int i = 0; i < parts.count; i++) {
		Part *part = &parts.list[i];
		if (!part->is_at_end && (first == nullptr || part->entry < first->entry))
			first = part;
	}
	return first;
}

static TransactionId
writer_of(const Part *part)
{
	const auto *row = reinterpret_cast<const BufferHeapTupleTableSlot *>(part->scan.row);
	return HeapTupleHeaderGetRawXmin(row->base.tuple->t_data);
}

int
read_ready(const RingClaim *claim, Snapshot snapshot, TimestampTz now, const SortKey *behind,
		   ReadyRow *rows, int most, PassedBy *passed)
{
	const Reader reader = open_reader(claim, snapshot, now);
	const Parts parts = open_parts(reader, behind);
	FirstDue first = begin_first(passed->jobs, passed->most);
	for (int i = 0; i < parts.count; i++)
		next_ready(reader, &parts.list[i], &first);
	int count = 0;
	for (Part *part; count < most && (part = first_part(parts)) != nullptr;) {
		rows[count++] = {candidate_of(part), writer_of(part)};
		if (count < most)
			next_ready(reader, part, &first);
	}
	const SortKey last = count == 0 ? before_all : rows[count - 1].candidate.sort_key();
	for (int i = 0; i < parts.count; i++)
		if (parts.list[i].has_scheduled)
			note_scheduled(reader, &parts.list[i], behind, count < most ? nullptr : &last, &first);
	close_parts(parts);
	close_reader(reader);
	passed->count = end_first(first);
	return count;
}

static void
begin_count(Numbers *numbers)
{
	numbers->are_known = true;
	numbers->due = numbers->run_at = PG_INT64_MAX;
	numbers->priority = PG_INT16_MIN;
}

// One that would be ready, had it not expired, is counted apart.
static void
count_job(Numbers *numbers, const SortKey &key, TimestampTz until, bool is_expired)
{
	if (is_expired) {
		numbers->expired++;
		return;
	}
	numbers->jobs++;
	numbers->leased += until != DT_NOBEGIN;
	numbers->due = Min(numbers->due, Max(key.run_at, until));
	if (until == DT_NOBEGIN)
		numbers->run_at = Min(numbers->run_at, key.run_at);
	numbers->priority = Max(numbers->priority, static_cast<int16>(key.priority));
}

static void
read_due_of_part(const Reader &reader, Part *part, FirstDue *first, Numbers *numbers)
{
	while (next_entry(part)) {
		if (is_late(reader, part, *first) && (numbers == nullptr || !numbers->are_wanted)) {
			if (numbers != nullptr)
				numbers->are_known = false;
			pass_by(part);
			continue;
		}
		if (!row::fetch_row(part->scan))
			continue;
		const TimestampTz until = leased_until(reader, part);
		if (numbers != nullptr)
			count_job(numbers, part->entry, until,
					  part->entry.run_at <= reader.now && has_expired(reader, part));
		(void) add_if_to_come(reader, part, until, first);
	}
}

// What has its last attempt has left the order of claims, and is found by the index of dead jobs, which tables of the
// first layout lack.
static void
count_last_attempts(const Reader &reader, Numbers *numbers)
{
	if (!OidIsValid(reader.claim->managed.dead_index))
		return;
	numbers->knows_last = true;
	Relation index = index_open(reader.claim->managed.dead_index, AccessShareLock);
	const row::IndexScan scan = row::begin_scan(reader.table, index, reader.snapshot, 1);
	ScanKeyData key;
	ScanKeyInit(&key, 1, BTGreaterStrategyNumber, F_TIMESTAMPTZ_GT,
				TimestampTzGetDatum(reader.now));
	row::restart(scan, &key, 1);
	while (row::next_row(scan))
		numbers->last_attempts++;
	row::end_scan(scan);
	index_close(index, NoLock);
}

int
read_first_due(const RingClaim *claim, Snapshot snapshot, TimestampTz now, DueJob *jobs, int most,
			   Numbers *numbers)
{
	const Reader reader = open_reader(claim, snapshot, now);
	const Parts parts = open_parts(reader, nullptr);
	FirstDue first = begin_first(jobs, most);
	if (numbers != nullptr)
		begin_count(numbers);
	for (int i = 0; i < parts.count; i++)
		read_due_of_part(reader, &parts.list[i], &first, numbers);
	close_parts(parts);
	if (numbers != nullptr && numbers->are_known)
		count_last_attempts(reader, numbers);
	close_reader(reader);
	return end_first(first);
}

} // namespace queue_ext::claim
