// unfinished.cpp - see unfinished.hpp.
//
// The row version's xmax decides. While this transaction has the row lock, no other can replace the
// version, and pruning leaves it where it is: so what is found here is still true at the commit,
// but for what the callbacks of other extensions may do until then. A rolled-back savepoint's write
// leaves a multixact, of the lock and of that write.

#include "../postgres.hpp"

#include "unfinished.hpp"

namespace queue_ext::claim {

namespace {

// What has become of a candidate's row version.
enum class Version {
	gone,      // or replaced or deleted by this transaction
	locked,    // by this transaction, and unchanged
	untouched, // by this transaction
};

} // namespace

// Whether this transaction is a member of the multixact, as one that has locked the version or, if
// it is a member twice, as the one that has replaced it.
static Version
find_in(MultiXactId multi, uint16 mask)
{
	if (HEAP_LOCKED_UPGRADED(mask))
		return Version::untouched;
	MultiXactMember *members;
	const int count = GetMultiXactIdMembers(multi, &members, false, HEAP_XMAX_IS_LOCKED_ONLY(mask));
	Version version = Version::untouched;
	for (int i = 0; i < count && version != Version::gone; i++)
		if (TransactionIdIsCurrentTransactionId(members[i].xid))
			version = ISUPDATE_from_mxstatus(members[i].status) ? Version::gone : Version::locked;
	if (count > 0)
		pfree(members);
	return version;
}

// Reads t_infomask and xmax of the version. False if there is none at the TID: one from shared
// memory may be any, and the transaction may have truncated the table.
static bool
read_header(Relation table, BlockNumber block_count, const ItemPointerData &tid, uint16 *mask,
			TransactionId *xmax)
{
	const BlockNumber block = ItemPointerGetBlockNumberNoCheck(&tid);
	const OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(&tid);
	if (block >= block_count || offset < FirstOffsetNumber)
		return false;
	const Buffer buffer = ReadBuffer(table, block);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	const Page page = BufferGetPage(buffer);
	const bool is_there =
		offset <= PageGetMaxOffsetNumber(page) && ItemIdIsNormal(PageGetItemId(page, offset));
	if (is_there) {
		const auto *header =
			reinterpret_cast<HeapTupleHeader>(PageGetItem(page, PageGetItemId(page, offset)));
		*mask = header->t_infomask;
		*xmax = HeapTupleHeaderGetRawXmax(header);
	}
	UnlockReleaseBuffer(buffer);
	return is_there;
}

static Version
look_at(Relation table, BlockNumber block_count, const ItemPointerData &tid)
{
	uint16 mask;
	TransactionId xmax;
	if (!read_header(table, block_count, tid, &mask, &xmax))
		return Version::gone;
	if ((mask & HEAP_XMAX_INVALID) != 0)
		return Version::untouched;
	if ((mask & HEAP_XMAX_IS_MULTI) != 0)
		return find_in(xmax, mask);
	if (!TransactionIdIsCurrentTransactionId(xmax))
		return Version::untouched;
	return HEAP_XMAX_IS_LOCKED_ONLY(mask) ? Version::locked : Version::gone;
}

// What has become of candidates of one table. One that this transaction has dropped, or has moved to
// another access method, has no candidates any more; in one that it has not locked it has changed
// nothing.
static Unfinished
keep_of_table(Oid table, Candidate *candidates, int count)
{
	Unfinished unfinished{};
	Relation relation = RelationIdGetRelation(table);
	if (relation == nullptr)
		return unfinished;
	if (!CheckRelationLockedByMe(relation, RowExclusiveLock, true)) {
		RelationClose(relation);
		return {count, false};
	}
	const bool is_heap = relation->rd_rel->relam == HEAP_TABLE_AM_OID;
	const BlockNumber block_count = is_heap ? RelationGetNumberOfBlocks(relation) : 0;
	for (int i = 0; i < count; i++) {
		const Version version = look_at(relation, block_count, candidates[i].tid);
		unfinished.has_locked |= version == Version::locked;
		if (version != Version::gone)
			candidates[unfinished.count++] = candidates[i];
	}
	RelationClose(relation);
	return unfinished;
}

// Goes through the candidates by runs of the same table: a claim in mode transaction is of an
// attached queue, whose ring is not sorted.
Unfinished
keep_unfinished(Candidate *candidates, int count)
{
	if (!TransactionIdIsValid(GetTopTransactionIdIfAny())) // a lock would have assigned an XID
		return {count, false};
	Unfinished unfinished{};
	for (int first = 0; first < count;) {
		const Oid table = candidates[first].version.table;
		int length = 1;
		while (first + length < count && candidates[first + length].version.table == table)
			length++;
		const Unfinished of_table = keep_of_table(table, &candidates[first], length);
		memmove(&candidates[unfinished.count], &candidates[first],
				sizeof(Candidate) * of_table.count);
		unfinished.count += of_table.count;
		unfinished.has_locked |= of_table.has_locked;
		first += length;
	}
	return unfinished;
}

} // namespace queue_ext::claim
