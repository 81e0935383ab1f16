// sequence.cpp - see sequence.hpp.

#include "../postgres.hpp"

#include "sequence.hpp"

#include "../compat.hpp"

namespace queue_ext::health {

// The bounds and the increment; false if the sequence is gone, or does not ascend.
static bool
read_bounds(Oid oid, Sequence *found, int64 *increment)
{
	HeapTuple tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(oid));
	if (!HeapTupleIsValid(tuple))
		return false;
	const auto *form = reinterpret_cast<Form_pg_sequence>(GETSTRUCT(tuple));
	found->first = form->seqmin;
	found->last = form->seqmax;
	found->is_cyclic = form->seqcycle;
	*increment = form->seqincrement;
	ReleaseSysCache(tuple);
	return *increment > 0;
}

// The sequence's only row. Values that sessions have cached count as given.
static void
read_next(Relation sequence, Sequence *found, int64 increment)
{
	SysScanDesc scan = systable_beginscan(sequence, InvalidOid, false, SnapshotSelf, 0, nullptr);
	HeapTuple row = systable_getnext(scan);
	if (HeapTupleIsValid(row)) {
		const auto *data = reinterpret_cast<Form_pg_sequence_data>(GETSTRUCT(row));
		found->sequence = RelationGetRelid(sequence);
		found->next = data->last_value;
		if (data->is_called && pg_add_s64_overflow(found->next, increment, &found->next))
			found->next = PG_INT64_MAX;
	}
	systable_endscan(scan);
}

// An unlogged sequence has no row on a standby.
Sequence
find_sequence(Relation table, AttrNumber column)
{
	Sequence found{};
	const Oid oid = compat::identity_sequence(table, column);
	int64 increment;
	if (!OidIsValid(oid) || pg_class_aclcheck(oid, GetUserId(), ACL_SELECT) != ACLCHECK_OK ||
		!ConditionalLockRelationOid(oid, AccessShareLock))
		return found;
	if (read_bounds(oid, &found, &increment)) {
		Relation sequence = relation_open(oid, NoLock);
		if (!RecoveryInProgress() || RelationIsPermanent(sequence))
			read_next(sequence, &found, increment);
		relation_close(sequence, NoLock);
	}
	UnlockRelationOid(oid, AccessShareLock);
	return found;
}

} // namespace queue_ext::health
