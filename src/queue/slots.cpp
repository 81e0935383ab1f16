// slots.cpp - see slots.hpp.

#include "../postgres.hpp"

#include "slots.hpp"

#include "../definition/keep.hpp"

namespace queue_ext::queue {

using statement::Named;

namespace {

// When the jobs of a slot were archived.
struct Span
{
	bool is_empty;
	TimestampTz oldest;
	TimestampTz newest;
};

} // namespace

// Under a snapshot of its own: that of the transaction may be older than a lock.
static Span
span_of(const Named &slot)
{
	Span span{};
	statement::with_spi([&] {
		PushActiveSnapshot(GetLatestSnapshot());
		statement::run_once(
			slot,
			psprintf("select (select finished_at from only %s order by finished_at limit 1),"
					 " (select finished_at from only %s order by finished_at desc limit 1)",
					 slot.name, slot.name),
			nullptr, 0, nullptr, nullptr, true);
		PopActiveSnapshot();
		HeapTuple row = SPI_tuptable->vals[0];
		span.oldest =
			DatumGetTimestampTz(SPI_getbinval(row, SPI_tuptable->tupdesc, 1, &span.is_empty));
		span.newest =
			DatumGetTimestampTz(SPI_getbinval(row, SPI_tuptable->tupdesc, 2, &span.is_empty));
	});
	return span;
}

// Locks the table, and its TOAST table, without waiting: a reader, or VACUUM, is let be.
static bool
lock_to_truncate(Oid table)
{
	if (!ConditionalLockRelationOid(table, AccessExclusiveLock))
		return false;
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	if (!HeapTupleIsValid(tuple))
		return false;
	const Oid toast = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->reltoastrelid;
	ReleaseSysCache(tuple);
	return !OidIsValid(toast) || ConditionalLockRelationOid(toast, AccessExclusiveLock);
}

// Truncates the slot, unless it is in use. A row may have come before the lock, so it looks again. Where
// the policies of the table bind its owner, too, it cannot know what the slot has.
static SlotState
truncate(const Named &slot, TimestampTz cutoff, claim::Runner runner)
{
	if (check_enable_rls(slot.table, InvalidOid, true) == RLS_ENABLED)
		return SlotState::kept;
	if (!lock_to_truncate(slot.table))
		return SlotState::in_use;
	if (runner == claim::Runner::owner &&
		!claim::has_no_users_code(slot.table, TRIGGER_TYPE_TRUNCATE, GetUserId()))
		return SlotState::kept;
	const Span span = span_of(slot);
	if (span.is_empty || span.newest > cutoff)
		return SlotState::kept;
	statement::run_command(psprintf("truncate only %s", slot.name));
	statement::check_named(slot);
	return SlotState::cleared;
}

SlotState
clear_slot(const Named &slot, const Interval &keep, claim::Manner manner)
{
	const TimestampTz cutoff = definition::cutoff_of(keep, GetCurrentTimestamp());
	SlotState state = SlotState::kept;
	const claim::TableAccess access{slot.table, ACL_SELECT | ACL_TRUNCATE, TRIGGER_TYPE_TRUNCATE};
	claim::as_owner(&access, 1, manner, [&](claim::Runner runner) {
		const Span span = span_of(slot);
		if (span.is_empty || span.oldest > cutoff)
			return;
		if (span.newest <= cutoff)
			state = truncate(slot, cutoff, runner);
		else if (definition::period_of(keep, span.oldest) !=
				 definition::period_of(keep, span.newest))
			state = SlotState::mixed;
	});
	return state;
}

int64
delete_expired(const Named &table, const Interval &keep, int most, claim::Manner manner)
{
	int64 deleted = 0;
	const claim::TableAccess access{table.table, ACL_SELECT | ACL_UPDATE | ACL_DELETE,
									TRIGGER_TYPE_DELETE};
	claim::as_owner(&access, 1, manner, [&](claim::Runner) {
		statement::with_spi([&] {
			Oid types[] = {TIMESTAMPTZOID};
			Datum values[] = {
				TimestampTzGetDatum(definition::cutoff_of(keep, GetCurrentTimestamp()))};
			statement::run_once(
				table,
				psprintf("delete from only %s as a where a.ctid operator(pg_catalog.=) any (array("
						 "select b.ctid from only %s as b"
						 " where b.finished_at operator(pg_catalog.<=) $1"
						 " order by b.finished_at limit %d for update skip locked))",
						 table.name, table.name, most),
				types, lengthof(types), values, nullptr, false);
			deleted = static_cast<int64>(SPI_processed);
		});
	});
	return deleted;
}

} // namespace queue_ext::queue
