// wake.cpp - queue_wake: the trigger function that makes written rows known to claims
// (wake_trigger.hpp).

#include "../postgres.hpp"

#include "../claim/own_update.hpp"
#include "../claim/transaction_callbacks.hpp"
#include "../error.hpp"
#include "../stats/tally.hpp"

namespace queue_ext::queue {

QUEUE_EXT_FUNCTION(queue_ext_queue_wake);

// Reads the column of that name. False if the row has no such column of that type, or if it is
// null.
static bool
get_value(HeapTuple row, TupleDesc descriptor, const char *name, Oid type, Datum *value)
{
	const int number = SPI_fnumber(descriptor, name);
	if (number <= 0 || SPI_gettypeid(descriptor, number) != type)
		return false;
	bool is_null;
	*value = heap_getattr(row, number, descriptor, &is_null);
	return !is_null;
}

namespace {

// A row that a statement has written, of a managed queue's table.
struct Written
{
	HeapTuple row;
	HeapTuple old; // null: it was inserted
};

} // namespace

// Whether the row was scheduled before it was written.
static bool
was_scheduled(HeapTuple old, TupleDesc descriptor)
{
	Datum value;
	return old != nullptr && !get_value(old, descriptor, "dead_at", TIMESTAMPTZOID, &value) &&
		   !get_value(old, descriptor, "leased_until", TIMESTAMPTZOID, &value) &&
		   get_value(old, descriptor, "run_at", TIMESTAMPTZOID, &value) &&
		   DatumGetTimestampTz(value) > GetCurrentTimestamp();
}

// Counts a row that was inserted, by us or others, and notes since when one is ready.
static void
count_row(Oid table, const Written &written, TupleDesc descriptor, const claim::Candidate *ready)
{
	stats::Tally *tally = stats::tally_of_table(table);
	if (tally == nullptr)
		return;
	tally->counts.add(stats::Counter::sent, written.old == nullptr);
	if (ready != nullptr)
		stats::note_ready(tally, ready->priority, ready->run_at,
						  !was_scheduled(written.old, descriptor));
}

// Notes a row of a managed queue for the end of the transaction. False if the row does not have the
// columns of a managed queue's table. Leaves out a row with dead_at set, which does not become
// claimable by itself.
static bool
note_row(Oid table, const Written &written, TupleDesc descriptor)
{
	HeapTuple row = written.row;
	Datum id;
	Datum priority;
	Datum run_at;
	if (!get_value(row, descriptor, "id", INT8OID, &id) ||
		!get_value(row, descriptor, "priority", INT2OID, &priority) ||
		!get_value(row, descriptor, "run_at", TIMESTAMPTZOID, &run_at))
		return false;
	Datum dead_at;
	if (get_value(row, descriptor, "dead_at", TIMESTAMPTZOID, &dead_at)) {
		count_row(table, written, descriptor, nullptr);
		return true;
	}
	Datum leased_until;
	if (get_value(row, descriptor, "leased_until", TIMESTAMPTZOID, &leased_until)) {
		count_row(table, written, descriptor, nullptr);
		claim::note_due(table, Max(DatumGetTimestampTz(leased_until), DatumGetTimestampTz(run_at)));
		return true;
	}
	const claim::Candidate candidate{
		row->t_self, DatumGetInt16(priority), DatumGetTimestampTz(run_at), {DatumGetInt64(id)}};
	count_row(table, written, descriptor, &candidate);
	claim::note_offer(table, candidate);
	return true;
}

// Notes nothing of a claim's own write, of which the claim notes what is needed. The rollback of
// another UPDATE or of a DELETE can make rows claimable again, so these are noted as writes,
// too. Raises 39P01 unless called as an AFTER trigger for INSERT, UPDATE or DELETE.
Datum
queue_ext_queue_wake(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		error::not_a_trigger_call("queue_wake");
	auto *data = reinterpret_cast<TriggerData *>(fcinfo->context);
	const TriggerEvent event = data->tg_event;
	if (!TRIGGER_FIRED_AFTER(event) || TRIGGER_FIRED_BY_TRUNCATE(event))
		error::wake_trigger_misplaced();
	const Oid table = RelationGetRelid(data->tg_relation);
	if (TRIGGER_FIRED_BY_UPDATE(event) &&
		claim::is_own_update(table, !TRIGGER_FIRED_FOR_STATEMENT(event)))
		return static_cast<Datum>(0);
	if (!TRIGGER_FIRED_BY_INSERT(event))
		claim::note_writes(table);
	if (TRIGGER_FIRED_FOR_STATEMENT(event) || TRIGGER_FIRED_BY_DELETE(event)) {
		claim::note_wake(table);
		return static_cast<Datum>(0);
	}
	const Written written = TRIGGER_FIRED_BY_UPDATE(event)
								? Written{data->tg_newtuple, data->tg_trigtuple}
								: Written{data->tg_trigtuple, nullptr};
	if (!note_row(table, written, RelationGetDescr(data->tg_relation)))
		claim::note_wake(table);
	return static_cast<Datum>(0);
}

} // namespace queue_ext::queue
