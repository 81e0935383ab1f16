// table.cpp - see table.hpp.

#include "../postgres.hpp"

#include "table.hpp"

#include "../compat.hpp"
#include "../definition/keep.hpp"
#include "../definition/name.hpp"
#include "../row/rights.hpp"
#include "../wake/trigger.hpp"
#include "job_rows.hpp"

namespace queue_ext::health {

namespace {

// An ascending sequence, which gives ids.
struct Sequence
{
	Oid sequence; // InvalidOid: there is none that can be judged, or the caller may not read it
	int64 next;   // the next value; past "last" if there is none
	int64 first;  // the bounds
	int64 last;
	bool is_cyclic;
};

} // namespace

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

// The sequence of the identity column, locked ACCESS SHARE while it is read; waits for no lock. An unlogged sequence has
// no row on a standby.
static Sequence
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

// An attached queue may do without the trigger.
static void
check_wake_trigger(const Subject &subject, Relation table)
{
	const Trigger *wake = wake::find_wake_trigger(table);
	const char *hint =
		psprintf("SELECT queue_alter(%s, wake => true);", quote_literal_cstr(subject.name));
	if (wake == nullptr && subject.definition->is_managed)
		subject.put(
			{"wake_trigger_missing", Severity::warning,
			 "Its table has no trigger that makes rows of plain SQL known: claims find such "
			 "jobs late, and nothing counts them.",
			 hint});
	if (wake != nullptr &&
		(wake->tgenabled == TRIGGER_DISABLED || wake->tgenabled == TRIGGER_FIRES_ON_REPLICA))
		subject.put(
			{"wake_trigger_disabled", Severity::warning,
			 psprintf("Its trigger \"%s\" does not fire: claims find jobs of plain SQL late.",
					  wake->tgname),
			 hint});
}

// By what VACUUM and ANALYZE have noted: nothing is read.
static void
check_archive(const Subject &subject)
{
	constexpr double large = 1024.0 * 1024.0 * 1024.0;
	const definition::Definition *definition = subject.definition;
	if (!definition->is_archived || definition->archive_name == nullptr ||
		!definition::is_for_ever(definition->archive_keep))
		return;
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(definition->archive));
	if (!HeapTupleIsValid(tuple))
		return;
	const auto *form = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
	const double size = static_cast<double>(form->relpages) * BLCKSZ;
	const double rows = form->reltuples;
	ReleaseSysCache(tuple);
	if (size >= large)
		subject.put(
			{"archive_large", Severity::info,
			 psprintf("Its archive has about %.0f jobs in %.1f GB, and nothing deletes from "
					  "it.",
					  Max(rows, 0), size / large),
			 psprintf("DELETE FROM %s WHERE finished_at < now() - interval '90 days';",
					  definition->archive_name)});
}

void
check_table(const Subject &subject, Relation table)
{
	check_wake_trigger(subject, table);
	check_archive(subject);
}

// The greatest id of the table, or of its archive, whose ids must differ from those to come, too.
static int64
greatest_id_of(Relation table)
{
	AttrNumber column;
	const Oid index = find_id_index(table, &column);
	return OidIsValid(index) ? greatest_id(table, index, column) : 0;
}

// An archive, or a slot, that is locked is passed over.
static int64
greatest_id_of_unlocked(Oid table)
{
	int64 greatest = 0;
	with_unlocked(table, RELKIND_RELATION,
				  [&](Relation relation) { greatest = greatest_id_of(relation); });
	return greatest;
}

// An archive that the caller may not read is passed over, too.
static int64
greatest_archived_id(const definition::Definition *definition)
{
	const Oid archive = definition->archive;
	if (!definition->is_archived || definition->archive_name == nullptr ||
		!row::may_read_all(archive))
		return 0;
	if (!definition->has_slots)
		return greatest_id_of_unlocked(archive);
	int64 greatest = 0;
	ListCell *cell;
	foreach (cell, find_inheritance_children(archive, NoLock))
		greatest = Max(greatest, greatest_id_of_unlocked(lfirst_oid(cell)));
	return greatest;
}

void
check_sequence(const Subject &subject, Relation table)
{
	constexpr int tenth = 10;
	const AttrNumber column = get_attnum(RelationGetRelid(table), "id");
	if (column <= 0)
		return;
	// In this order: a sender gives a job its id before it is in the table, and jobs go on to the archive.
	const int64 in_table = greatest_id_of(table);
	const int64 greatest = Max(in_table, greatest_archived_id(subject.definition));
	const Sequence sequence = find_sequence(table, column);
	if (!OidIsValid(sequence.sequence))
		return;
	const char *name = definition::qualified_name(sequence.sequence);
	if (greatest >= sequence.next)
		subject.put(
			{"sequence_behind", Severity::critical,
			 psprintf("The next id is " INT64_FORMAT ", and there is a job " INT64_FORMAT
					  " in its %s: sends fail.",
					  sequence.next, greatest, greatest > in_table ? "archive" : "table"),
			 psprintf("SELECT setval(%s, " INT64_FORMAT ");", quote_literal_cstr(name), greatest)});
	// As doubles, since the difference of two may not fit.
	const double left =
		static_cast<double>(sequence.last) - static_cast<double>(Max(sequence.next, greatest));
	const double all = static_cast<double>(sequence.last) - static_cast<double>(sequence.first);
	if (!sequence.is_cyclic && left * tenth < all)
		subject.put({"sequence_near_end", left < 0 ? Severity::critical : Severity::warning,
					 psprintf("Its sequence ends at " INT64_FORMAT ", and has given %.1f %% of its "
							  "ids.",
							  sequence.last, 100.0 * (1.0 - Max(left, 0) / Max(all, 1))),
					 psprintf("ALTER TABLE %s ALTER COLUMN id SET MAXVALUE 9223372036854775807;",
							  subject.definition->source_name)});
}

} // namespace queue_ext::health
