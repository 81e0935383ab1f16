// wake.cpp - queue_wake: the trigger function that makes written rows known to claims
// (wake/trigger.hpp).

#include "../postgres.hpp"

#include "../catalog/column.hpp"
#include "../claim/given_back.hpp"
#include "../claim/own_update.hpp"
#include "../error.hpp"
#include "../wake/written.hpp"

namespace queue_ext::queue {

using catalog::get_value;

QUEUE_EXT_FUNCTION(queue_ext_queue_wake);

namespace {

// A row that a statement has written, of a managed queue's table.
struct Written
{
	HeapTuple row;
	HeapTuple old; // null: it was inserted
};

// A job's row, as far as it tells when the job is ready.
struct JobRow
{
	bool has_place; // its columns are those of a managed queue's table
	int64 id;
	int16 priority;
	TimestampTz run_at;
	bool is_leased;
	TimestampTz leased_until;
	bool is_dead; // or will be when its lease ends
	TimestampTz dead_at;

	// Whether it stands at the place of the other in the order, and can be claimed from its run_at on.
	bool is_free_at(const JobRow &place) const
	{
		return !is_dead && !is_leased && priority == place.priority && run_at == place.run_at;
	}
	// Whether it could be claimed.
	bool is_ready(TimestampTz now) const
	{
		return !is_dead && run_at <= now && (!is_leased || leased_until <= now);
	}
	bool is_scheduled(TimestampTz now) const
	{
		return !is_dead && !is_leased && run_at > now;
	}
	// From when on it can be claimed; PG_INT64_MAX: never, by itself.
	TimestampTz due() const
	{
		if (is_dead)
			return PG_INT64_MAX;
		return is_leased ? Max(leased_until, run_at) : run_at;
	}
};

} // namespace

static JobRow
read_job(HeapTuple row, TupleDesc descriptor)
{
	Datum id;
	Datum priority;
	Datum run_at;
	JobRow job{};
	job.has_place = get_value(row, descriptor, "id", INT8OID, &id) &&
					get_value(row, descriptor, "priority", INT2OID, &priority) &&
					get_value(row, descriptor, "run_at", TIMESTAMPTZOID, &run_at);
	if (!job.has_place)
		return job;
	Datum leased_until = 0;
	Datum dead_at = 0;
	job.id = DatumGetInt64(id);
	job.priority = DatumGetInt16(priority);
	job.run_at = DatumGetTimestampTz(run_at);
	job.is_leased = get_value(row, descriptor, "leased_until", TIMESTAMPTZOID, &leased_until);
	job.leased_until = DatumGetTimestampTz(leased_until);
	job.is_dead = get_value(row, descriptor, "dead_at", TIMESTAMPTZOID, &dead_at);
	job.dead_at = DatumGetTimestampTz(dead_at);
	return job;
}

// Notes what an update has made of a job that was ready, or would have been: the ring may still have it at its
// former place.
static void
count_former(Oid table, stats::TransactionCounters *counters, const JobRow &job,
			 const JobRow &former)
{
	const TimestampTz now = GetCurrentTimestamp();
	if ((former.is_ready(now) || former.is_scheduled(now)) && !job.is_free_at(former))
		stats::note_left(counters, former.priority, former.run_at);
	const bool is_same = job.is_leased && job.is_dead && job.dead_at == former.dead_at;
	if (former.is_leased && former.is_dead && !is_same)
		claim::note_death_of(table, counters, former.dead_at);
}

// Counts a row that was inserted, by us or others; notes since when one is ready, or when its lease ends. former: null, or
// what it was before.
static void
count_row(Oid table, const JobRow &job, const JobRow *former)
{
	stats::TransactionCounters *counters = stats::counters_of_table(table);
	if (counters == nullptr)
		return;
	bool was_scheduled = false;
	if (former == nullptr)
		counters->counts.add(stats::Counter::sent, 1);
	else {
		was_scheduled = former->is_scheduled(GetCurrentTimestamp());
		count_former(table, counters, job, *former);
	}
	if (job.is_dead)
		return;
	if (job.is_leased)
		stats::note_clock(counters, job.priority, Max(job.leased_until, job.run_at));
	else
		stats::note_ready(counters, job.priority, job.run_at, !was_scheduled);
}

static uint64
kind_of(HeapTuple row, TupleDesc descriptor)
{
	Datum kind;
	return get_value(row, descriptor, "kind", TEXTOID, &kind)
			   ? ring::hash_of_kind(DatumGetTextPP(kind))
			   : ring::no_kind;
}

// Whether this transaction has written the version: of others it has no notes.
static bool
is_our_version(HeapTuple row)
{
	return TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(row->t_data));
}

// Whether this transaction has written a later version of the row already, or has deleted it: another trigger of the
// statement, which came before ours. Then ours has been fired for that version, and the ring is to have it alone.
static bool
is_superseded(HeapTuple row)
{
	const HeapTupleHeader header = row->t_data;
	return (header->t_infomask & HEAP_XMAX_INVALID) == 0 &&
		   !HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask) &&
		   TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(header));
}

// Notes a row of a managed queue for the end of the transaction, and for a rollback what it was before. False if the row
// does not have the columns of a managed queue's table. Leaves out a row with dead_at set, which does not become
// claimable by itself.
static bool
note_row(Oid table, const Written &written, TupleDesc descriptor)
{
	const JobRow job = read_job(written.row, descriptor);
	const bool is_update = written.old != nullptr;
	const JobRow former = is_update ? read_job(written.old, descriptor) : JobRow{};
	if (is_update)
		wake::note_writes(table, former.has_place ? former.due() : wake::at_once);
	if (!job.has_place)
		return false;
	count_row(table, job, is_update ? &former : nullptr);
	if (job.is_dead || is_superseded(written.row))
		return true;
	const uint64 kind = kind_of(written.row, descriptor);
	if (is_update && former.has_place && is_our_version(written.old) &&
		kind_of(written.old, descriptor) != kind)
		wake::note_kind_change(table, former.id);
	const ring::Candidate candidate{written.row->t_self, job.priority, job.run_at, {job.id}};
	if (job.is_leased)
		wake::note_due_row(table, {candidate, job.due()}, kind);
	else
		wake::note_offer(table, candidate, kind);
	return true;
}

static ring::Version
version_of(HeapTuple row)
{
	return {row->t_self, HeapTupleHeaderGetRawXmin(row->t_data)};
}

// Notes a row of an attached queue's table, and for a rollback what it was before.
static void
note_version(Oid table, const Written &written)
{
	if (written.old != nullptr)
		wake::note_replaced(table, version_of(written.old));
	wake::note_version(table, version_of(written.row));
}

// Notes nothing of a claim's own write, as the claim makes its own notes. The rollback of another
// UPDATE or of a DELETE can make rows claimable again, so these are noted as writes, too. Raises 39P01
// unless called as an AFTER trigger for INSERT, UPDATE or DELETE.
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
	if (TRIGGER_FIRED_FOR_STATEMENT(event) || TRIGGER_FIRED_BY_DELETE(event)) {
		if (!TRIGGER_FIRED_BY_INSERT(event))
			wake::note_writes(table, wake::at_once);
		wake::note_wake(table);
		return static_cast<Datum>(0);
	}
	const Written written = TRIGGER_FIRED_BY_UPDATE(event)
								? Written{data->tg_newtuple, data->tg_trigtuple}
								: Written{data->tg_trigtuple, nullptr};
	if (data->tg_trigger->tgnargs > 0)
		note_version(table, written);
	else if (!note_row(table, written, RelationGetDescr(data->tg_relation)))
		wake::note_wake(table);
	return static_cast<Datum>(0);
}

} // namespace queue_ext::queue
