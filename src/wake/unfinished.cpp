// unfinished.cpp - see unfinished.hpp.
//
// The row version's xmax decides. While this transaction has the row lock, no other can replace the
// version, and pruning leaves it where it is: so the answer still holds at the commit, but for what the
// callbacks of other extensions may do until then. A rolled-back savepoint's write leaves a multixact,
// of the lock and of that write.

#include "../postgres.hpp"

#include "unfinished.hpp"

namespace queue_ext::wake {

using ring::Candidate;

// Whether this transaction is a member of the multixact, as one that has locked the version, and
// not, if it is a member twice, as the one that has replaced it, too.
static bool
is_only_locked_in(MultiXactId multi, uint16 mask)
{
	if (HEAP_LOCKED_UPGRADED(mask))
		return false;
	MultiXactMember *members;
	const int count = GetMultiXactIdMembers(multi, &members, false, HEAP_XMAX_IS_LOCKED_ONLY(mask));
	bool is_locked = false;
	bool is_replaced = false;
	for (int i = 0; i < count && !is_replaced; i++)
		if (TransactionIdIsCurrentTransactionId(members[i].xid)) {
			is_locked = true;
			is_replaced = ISUPDATE_from_mxstatus(members[i].status);
		}
	if (count > 0)
		pfree(members);
	return is_locked && !is_replaced;
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

// Whether this transaction has locked the version, and left it unchanged.
static bool
is_unfinished(Relation table, BlockNumber block_count, const ItemPointerData &tid)
{
	uint16 mask;
	TransactionId xmax;
	if (!read_header(table, block_count, tid, &mask, &xmax) || (mask & HEAP_XMAX_INVALID) != 0)
		return false;
	if ((mask & HEAP_XMAX_IS_MULTI) != 0)
		return is_only_locked_in(xmax, mask);
	return HEAP_XMAX_IS_LOCKED_ONLY(mask) && TransactionIdIsCurrentTransactionId(xmax);
}

// Keeps candidates of one table. One that this transaction has dropped, or has moved to another
// access method, has no candidates any more; in one that it has not locked it has locked no row.
static int
keep_of_table(Oid table, Candidate *candidates, int count)
{
	Relation relation = RelationIdGetRelation(table);
	if (relation == nullptr)
		return 0;
	const bool may_have = CheckRelationLockedByMe(relation, RowExclusiveLock, true) &&
						  relation->rd_rel->relam == HEAP_TABLE_AM_OID;
	const BlockNumber block_count = may_have ? RelationGetNumberOfBlocks(relation) : 0;
	int kept = 0;
	for (int i = 0; i < count && may_have; i++)
		if (is_unfinished(relation, block_count, candidates[i].tid))
			candidates[kept++] = candidates[i];
	RelationClose(relation);
	return kept;
}

// Goes through the candidates by runs of the same table: a claim in mode transaction is of an
// attached queue, whose ring is not sorted.
int
keep_unfinished(Candidate *candidates, int count)
{
	if (!TransactionIdIsValid(GetTopTransactionIdIfAny())) // a lock would have assigned an XID
		return 0;
	int kept = 0;
	for (int first = 0; first < count;) {
		const Oid table = candidates[first].version.table;
		int length = 1;
		while (first + length < count && candidates[first + length].version.table == table)
			length++;
		const int of_table = keep_of_table(table, &candidates[first], length);
		memmove(&candidates[kept], &candidates[first], sizeof(Candidate) * of_table);
		kept += of_table;
		first += length;
	}
	return kept;
}

} // namespace queue_ext::wake
