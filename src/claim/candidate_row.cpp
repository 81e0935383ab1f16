// candidate_row.cpp - see candidate_row.hpp.

#include "../postgres.hpp"

#include "candidate_row.hpp"

#include "../row/write.hpp"

namespace queue_ext::claim {

using ring::Candidate;
using ring::Kinds;
using ring::SortKey;

// The columns that a claim writes, as the table numbers them.
static Bitmapset *
written_in(Relation table, const RingClaim *claim)
{
	if (RelationGetRelid(table) == claim->key.table)
		return claim->written;
	Bitmapset *written = nullptr;
	int member = -1;
	while ((member = bms_next_member(claim->written, member)) >= 0) {
		const auto number = static_cast<AttrNumber>(member + FirstLowInvalidHeapAttributeNumber);
		const char *name = get_attname(claim->key.table, number, true);
		const AttrNumber here = name == nullptr ? static_cast<AttrNumber>(InvalidAttrNumber)
												: get_attnum(RelationGetRelid(table), name);
		if (here != InvalidAttrNumber)
			written = bms_add_member(written, here - FirstLowInvalidHeapAttributeNumber);
	}
	return written;
}

CandidateRow
open_candidate_row(Relation table, const RingClaim *claim, CommandId first_command)
{
	CandidateRow row{};
	row.table = table;
	row.claim = claim;
	row.slot = table_slot_create(table, nullptr);
	row.lock_mode = row::lock_mode_for(table, written_in(table, claim));
	row.first_command = first_command;
	row.expiry = claim->expiry;
	return row;
}

void
close_candidate_row(CandidateRow *row)
{
	ExecDropSingleTupleTableSlot(row->slot);
}

// The table is a heap, whose slots hold a buffer.
static const BufferHeapTupleTableSlot *
slot_of(const CandidateRow *row)
{
	return reinterpret_cast<const BufferHeapTupleTableSlot *>(row->slot);
}

HeapTupleHeader
header_of(const CandidateRow *row)
{
	return slot_of(row)->base.tuple->t_data;
}

Buffer
buffer_of(const CandidateRow *row)
{
	return slot_of(row)->buffer;
}

// Whether the TID is valid and the table still has its block: VACUUM may have truncated the table
// before the caller locked it.
static bool
has_stored_tid(CandidateRow *row, const Candidate *candidate)
{
	if (!ItemPointerIsValid(&candidate->tid) ||
		ItemPointerGetOffsetNumber(&candidate->tid) > MaxOffsetNumber)
		return false;
	const BlockNumber block = ItemPointerGetBlockNumber(&candidate->tid);
	if (block >= row->block_count)
		row->block_count = RelationGetNumberOfBlocks(row->table);
	return block < row->block_count;
}

// Whether the version read is of the candidate's row, and not of another row that has reused the
// TID.
static bool
is_same(const CandidateRow *row, const Candidate &candidate)
{
	const RingClaim *claim = row->claim;
	if (!claim->key.is_sorted)
		return HeapTupleHeaderGetRawXmin(header_of(row)) == candidate.version.writer;
	const auto value = [&](AttrNumber column) {
		bool is_null;
		return slot_getattr(row->slot, column, &is_null);
	};
	return SortKey{DatumGetInt16(value(claim->managed.priority)),
				   DatumGetTimestampTz(value(claim->managed.run_at)),
				   DatumGetInt64(value(claim->managed.id))} == candidate.sort_key();
}

bool
fetch(CandidateRow *row, Candidate *candidate)
{
	return has_stored_tid(row, candidate) &&
		   table_tuple_fetch_row_version(row->table, &candidate->tid, SnapshotSelf, row->slot) &&
		   is_same(row, *candidate);
}

bool
fetch_removed_here(CandidateRow *row, Candidate *candidate)
{
	if (!TransactionIdIsValid(GetTopTransactionIdIfAny()) || !has_stored_tid(row, candidate) ||
		!table_tuple_fetch_row_version(row->table, &candidate->tid, SnapshotAny, row->slot) ||
		!is_same(row, *candidate))
		return false;
	const Buffer buffer = buffer_of(row);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	const HeapTupleHeader header = header_of(row);
	const bool is_removed =
		(header->t_infomask & HEAP_XMAX_INVALID) == 0 &&
		!HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask) &&
		TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(header));
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return is_removed;
}

bool
is_of_this_transaction(const CandidateRow *row)
{
	return TransactionIdIsValid(GetTopTransactionIdIfAny()) &&
		   TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(header_of(row)));
}

bool
is_own(const CandidateRow *row)
{
	return is_of_this_transaction(row) &&
		   HeapTupleHeaderGetCmin(header_of(row)) >= row->first_command;
}

// A child may have its columns in another order.
bool
is_of_kinds(const CandidateRow *row, const Kinds *kinds)
{
	if (kinds == nullptr)
		return true;
	const Oid table = RelationGetRelid(row->table);
	return includes(*kinds, row->slot,
					table == row->claim->key.table ? row->claim->managed.kind
												   : get_attnum(table, "kind"));
}

// Whether FOR KEY SHARE, as a foreign key's check takes it, conflicts with the write.
static bool
heeds_key_locks(const CandidateRow *row)
{
	return row->lock_mode == LockTupleExclusive;
}

// Whether a member of that multixact conflicts with the write.
static bool
is_locked_by_any(const CandidateRow *row, MultiXactId lockers, uint16 mask)
{
	if (HEAP_LOCKED_UPGRADED(mask))
		return false;
	MultiXactMember *members;
	const int count =
		GetMultiXactIdMembers(lockers, &members, false, HEAP_XMAX_IS_LOCKED_ONLY(mask));
	bool is_locked = false;
	for (int i = 0; i < count && !is_locked; i++)
		is_locked = (members[i].status != MultiXactStatusForKeyShare || heeds_key_locks(row)) &&
					!TransactionIdIsCurrentTransactionId(members[i].xid) &&
					TransactionIdIsInProgress(members[i].xid);
	if (count > 0)
		pfree(members);
	return is_locked;
}

bool
is_taken(const CandidateRow *row)
{
	const HeapTupleHeader header = header_of(row);
	const Buffer buffer = buffer_of(row);
	// As most are; a lock that comes now would have come later as well.
	if ((header->t_infomask & HEAP_XMAX_INVALID) != 0)
		return false;
	// Read both under one lock: an XID taken for a multixact would raise an error.
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	const uint16 mask = header->t_infomask;
	const TransactionId locker = HeapTupleHeaderGetRawXmax(header);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	if ((mask & HEAP_XMAX_INVALID) != 0)
		return false;
	if ((mask & HEAP_XMAX_IS_MULTI) != 0)
		return is_locked_by_any(row, locker, mask);
	return ((mask & HEAP_LOCK_MASK) != HEAP_XMAX_KEYSHR_LOCK || heeds_key_locks(row)) &&
		   !TransactionIdIsCurrentTransactionId(locker) && TransactionIdIsInProgress(locker);
}

} // namespace queue_ext::claim
