// direct.cpp - see direct.hpp.
//
// A candidate names a TID. The row version there is read with SnapshotSelf: committed, or this
// transaction's own, and not yet replaced. If the compiled condition finds it pending, it is
// claimed at once, without waiting:
//
//   update       The new version is written over it; heap_update() refuses a version that another
//                transaction has changed or locked meanwhile, and the candidate is dropped.
//   transaction  Its row lock is taken, which is refused for the same reasons.
//   session      The advisory lock of its row key is taken, and the row read again after that: the
//                session that had the lock before may have finished the job, and has committed that
//                before it released the lock (held/rows.hpp).
//
// A TID that another row has reused is no candidate: that row is claimed when its own turn comes.

#include "../postgres.hpp"

#include "direct.hpp"

#include "../error.hpp"
#include "../held/rows.hpp"
#include "../ring/probe.hpp"
#include "../schedule/occurrence.hpp"
#include "candidate_row.hpp"
#include "claim_text.hpp"
#include "count.hpp"
#include "drain.hpp"
#include "expiry_rule.hpp"
#include "recurring.hpp"
#include "row_context.hpp"
#include "writer.hpp"

namespace queue_ext::claim {

using definition::ClaimMode;
using definition::Definition;
using held::HeldId;
using ring::Candidate;
using ring::DueJob;
using ring::Ring;
using ring::RingCounters;
using ring::no_kind;
using statement::Parameter;

namespace {

// The state of one claim_direct().
struct Claimer
{
	Definition *definition;
	const Output *output;
	Writer writer;
	CandidateRow old;        // the row version read
	TupleConversionMap *map; // to the result's row type; null where they are alike
	TupleTableSlot *result;
	Request *request; // its clock is also a parameter of the expressions
	RingCounters counters;
	bool is_taken;        // another transaction, or session, has locked the last candidate
	bool needs_statement; // the next row cannot be claimed here
	bool has_own;         // this call has written one of the rows
	RowContext context;
	DueJob *
		leased; // what the claims have written, with the times at which these rows are pending again
	int leased_count;
};

} // namespace

// On ERROR, the resource owner and the memory context release what it holds.
static Claimer
open_claimer(Definition *definition, const Request &request, const Output *output)
{
	Claimer claimer{};
	claimer.definition = definition;
	claimer.output = output;
	const bool writes = definition->claim_mode == ClaimMode::update;
	claimer.writer = open_writer(definition, arguments_for(definition, request),
								 writes ? CMD_UPDATE : CMD_SELECT);
	Relation table = claimer.writer.table;
	claimer.old = open_candidate_row(table, claimer.writer.claim, GetCurrentCommandId(false));
	claimer.leased =
		static_cast<DueJob *>(palloc(sizeof(DueJob) * Min(request.max_jobs, run_length)));
	claimer.map = convert_tuples_by_name(RelationGetDescr(table), output->descriptor);
	if (claimer.map != nullptr)
		claimer.result = MakeSingleTupleTableSlot(output->descriptor, &TTSOpsVirtual);
	return claimer;
}

static void
close_claimer(Claimer *claimer)
{
	if (claimer->result != nullptr)
		ExecDropSingleTupleTableSlot(claimer->result);
	close_candidate_row(&claimer->old);
	close_writer(&claimer->writer);
}

// Whether the row read is pending. A job may have become due after this call began.
static bool
is_pending_by_now(Claimer *claimer)
{
	const Writer &writer = claimer->writer;
	if (is_pending(writer.claim, writer.context, claimer->old.slot))
		return true;
	if (!writer.claim->key.is_sorted)
		return false;
	claimer->request->call_time = GetCurrentTimestamp();
	set_clock(writer.context, claimer->request->call_time);
	return is_pending(writer.claim, writer.context, claimer->old.slot);
}

// Computes the new version by on_claim. Raises what the executor raises for a constraint that it
// violates.
static void
make_new_row(const Claimer *claimer)
{
	const Writer *writer = &claimer->writer;
	const DirectClaim *claim = writer->claim;
	row::compute_new_version(writer->table, claimer->old.slot, claim->columns, claim->column_count,
							 writer->context, writer->row);
	if (!row::keeps_constraints(claim->checks, claim->columns, claim->column_count, writer->row,
								writer->context))
		row::check_constraints(&writer->target, writer->row);
}

// Takes the row's lock without waiting. False if it is locked by another transaction, or not the
// newest version.
static bool
lock_row(Claimer *claimer, ItemPointer tid)
{
	TM_FailureData failure;
	const TM_Result result = ring::measured("lock", [&] {
		return table_tuple_lock(claimer->writer.table, tid, SnapshotSelf, claimer->old.slot,
								GetCurrentCommandId(true), LockTupleNoKeyExclusive, LockWaitSkip, 0,
								&failure);
	});
	claimer->is_taken = result == TM_WouldBlock;
	return result == TM_Ok;
}

static void
put(const Claimer *claimer, TupleTableSlot *row)
{
	if (claimer->map != nullptr)
		row = execute_attr_map_slot(claimer->map->attrMap, row, claimer->result);
	tuplestore_puttupleslot(claimer->output->store, row);
}

// Reads the candidate's row. If it cannot be claimed, counts why. "pending" may be the dearest part,
// and comes last.
static bool
read(Claimer *claimer, Candidate *candidate)
{
	if (!fetch(&claimer->old, candidate)) {
		claimer->counters.gone++;
		return false;
	}
	// Before it is asked whether another transaction has the row: if that is a look, it is about to end the job.
	if (has_expired(claimer->old.expiry, claimer->old.slot)) {
		claimer->counters.not_pending++;
		return false;
	}
	if (!claimer->writer.claim->has_policies)
		claimer->context.row = claimer->old.slot;
	// A guess: the lock may have gone, or come, by the time of the write.
	claimer->is_taken =
		claimer->definition->claim_mode != ClaimMode::session && is_taken(&claimer->old);
	if (claimer->is_taken) {
		claimer->counters.locked++;
		return false;
	}
	claimer->has_own |= is_own(&claimer->old);
	if (is_own(&claimer->old) || !is_of_kinds(&claimer->old, claimer->request->kinds) ||
		!is_pending_by_now(claimer)) {
		claimer->counters.not_pending++;
		return false;
	}
	// The caller may see it.
	claimer->context.row = claimer->old.slot;
	return true;
}

// Whether the version read is still there for this transaction. User-defined code that has run
// since that command may have replaced it, for which heap_update() would raise an internal error.
static bool
is_unwritten(const Claimer *claimer, Candidate *candidate, CommandId command)
{
	if (GetCurrentCommandId(false) == command)
		return true;
	TupleTableSlot *slot = table_slot_create(claimer->writer.table, nullptr);
	const bool is_there =
		table_tuple_fetch_row_version(claimer->writer.table, &candidate->tid, SnapshotSelf, slot);
	ExecDropSingleTupleTableSlot(slot);
	return is_there;
}

// Whether the row, which was read and has been claimed, is to be handed out: all are but occurrences
// of a schedule that have been missed.
static bool
is_to_be_handed_out(const Claimer *claimer)
{
	const ManagedTable &managed = claimer->writer.claim->managed;
	TupleTableSlot *row = claimer->old.slot;
	if (!managed.has_columns || managed.unique_key == InvalidAttrNumber)
		return true;
	bool is_null;
	const Datum unique_key = slot_getattr(row, managed.unique_key, &is_null);
	if (is_null || !schedule::is_occurrence(unique_key) ||
		DatumGetInt32(slot_getattr(row, managed.attempt, &is_null)) != 0)
		return true;
	return take_occurrence(claimer->definition, claimer->output->occurrences, unique_key,
						   DatumGetInt64(slot_getattr(row, managed.id, &is_null)));
}

// Notes when the job that was claimed is claimable again by itself, if it is.
static void
note_leased(Claimer *claimer)
{
	const DirectClaim *claim = claimer->writer.claim;
	TupleTableSlot *row = claimer->writer.row;
	if (claim->due != nullptr)
		claimer->leased[claimer->leased_count++] = {
			due_row_of(claim, claimer->writer.context, row, GetCurrentTransactionId()), no_kind};
	bool is_null = true;
	if (claim->managed.dead_at != InvalidAttrNumber)
		(void) slot_getattr(row, claim->managed.dead_at, &is_null);
	if (!claimer->definition->is_managed || !is_null)
		return;
	const auto value = [&](AttrNumber column) {
		return slot_getattr(row, column, &is_null);
	};
	DueJob *leased = &claimer->leased[claimer->leased_count++];
	Candidate *candidate = &leased->row.candidate;
	candidate->tid = row->tts_tid;
	candidate->priority = DatumGetInt16(value(claim->managed.priority));
	candidate->run_at = DatumGetTimestampTz(value(claim->managed.run_at));
	candidate->id = DatumGetInt64(value(claim->managed.id));
	leased->row.due =
		Max(candidate->run_at, DatumGetTimestampTz(value(claim->managed.leased_until)));
	leased->kind = ring::kind_in(row, claim->managed.kind);
}

// Claims by writing. Waits for an index entry: for a transaction that has written the same key into a
// unique index; and for the row of an occurrence's schedule.
static bool
claim_by_update(Claimer *claimer, Candidate *candidate)
{
	const CommandId command = GetCurrentCommandId(false);
	if (!read(claimer, candidate))
		return false;
	// The executor checks foreign keys again when a version that this transaction has written is
	// replaced: the queued check of that version will find it gone.
	if (claimer->writer.claim->has_foreign_key && is_of_this_transaction(&claimer->old)) {
		claimer->needs_statement = true;
		return false;
	}
	row::make_room(claimer->writer.table, claimer->old.slot);
	make_new_row(claimer);
	const ReadyJob job = ready_job_in(claimer->writer.claim, claimer->old.slot);
	compat::UpdatedIndexes updated;
	Writer *writer = &claimer->writer;
	if (!is_unwritten(claimer, candidate, command) ||
		ring::measured("update", [&] {
			return row::update_at_once(writer->table, &candidate->tid, writer->claim->written,
									   claimer->old.slot, writer->row, &updated);
		}) != TM_Ok) {
		claimer->counters.locked++;
		return false;
	}
	row::insert_index_entries(&writer->target, writer->row, updated);
	Definition *definition = claimer->definition;
	if (is_pending(writer->claim, writer->context, writer->row))
		error::still_pending(definition->name, definition->fragments.pending,
							 definition->fragments.on_claim);
	if (!is_to_be_handed_out(claimer)) {
		claimer->counters.not_pending++;
		return false;
	}
	note_leased(claimer);
	put(claimer, claimer->writer.row);
	count_claim(definition, job, claimer->request->call_time, claimed_from(*claimer->request));
	return true;
}

// The row key of the row read, in per-tuple memory: good for this candidate only.
static const char *
row_key_of(const Claimer *claimer)
{
	claimer->writer.context->ecxt_scantuple = claimer->old.slot;
	bool is_null;
	const Datum row_key = ExecEvalExprSwitchContext(claimer->writer.claim->row_key,
													claimer->writer.context, &is_null);
	MemoryContext old = MemoryContextSwitchTo(claimer->writer.context->ecxt_per_tuple_memory);
	const char *result = is_null ? "" : TextDatumGetCString(row_key);
	MemoryContextSwitchTo(old);
	return result;
}

// Claims by the row lock. A row that this session has claimed before counts as locked.
static bool
claim_by_row_lock(Claimer *claimer, Candidate *candidate)
{
	if (!read(claimer, candidate))
		return false;
	const char *row_key = row_key_of(claimer);
	if (held::is_known(claimer->definition->source, row_key) ||
		!lock_row(claimer, &candidate->tid)) {
		claimer->counters.locked++;
		return false;
	}
	held::hold_row(claimer->definition->source, row_key);
	put(claimer, claimer->old.slot);
	return true;
}

// Claims by the advisory lock. The first read spares locking what cannot be claimed; the second
// sees what the former holder of the lock has committed, and may itself run a function that
// releases the lock.
static bool
claim_by_session_lock(Claimer *claimer, Candidate *candidate)
{
	if (!read(claimer, candidate))
		return false;
	const Oid table = claimer->definition->source;
	const char *row_key = row_key_of(claimer);
	const HeldId held = held::try_hold(claimer->definition, row_key);
	if (held == 0) {
		claimer->counters.locked++;
		claimer->is_taken = !held::is_taken_here(table, row_key);
		return false;
	}
	if (!read(claimer, candidate) || strcmp(row_key_of(claimer), row_key) != 0 ||
		!held::has_hold(table, row_key, held)) {
		held::pass_by(table, row_key, held);
		return false;
	}
	put(claimer, claimer->old.slot);
	return true;
}

// Tries one candidate; true if it was won.
static bool
try_claim(Claimer *claimer, Candidate *candidate)
{
	switch (claimer->definition->claim_mode) {
		case ClaimMode::update:
			return claim_by_update(claimer, candidate);
		case ClaimMode::transaction:
			return claim_by_row_lock(claimer, candidate);
		case ClaimMode::session:
			return claim_by_session_lock(claimer, candidate);
	}
	pg_unreachable();
}

// See Trier (drain.hpp).
static Tried
try_directly(void *state, Request *request, Candidate *candidates, int count)
{
	auto *claimer = static_cast<Claimer *>(state);
	claimer->counters = {};
	claimer->leased_count = 0;
	claimer->has_own = false;
	claimer->request = request;
	set_clock(claimer->writer.context, claimer->request->call_time);
	uint64 locked = 0;
	uint64 won = 0;
	begin_context(&claimer->context, claimer->definition, act_of(ClaimStatement::claim_by_tid));
	for (int i = 0; i < count && !claimer->needs_statement; i++) {
		claimer->context.row = nullptr;
		CHECK_FOR_INTERRUPTS();
		ResetExprContext(claimer->writer.context);
		claimer->is_taken = false;
		if (try_claim(claimer, &candidates[i])) {
			claimer->counters.claims++;
			won |= UINT64CONST(1) << i;
		} else if (claimer->is_taken)
			locked |= UINT64CONST(1) << i;
	}
	end_context(&claimer->context);
	return {claimer->counters,        locked,       won,
			claimer->needs_statement, PG_INT64_MAX, claimer->leased,
			claimer->leased_count,    false,        claimer->has_own};
}

bool
claim_direct(Definition *definition, Ring *ring, Request *request, const Output &output,
			 uint64 *claimed)
{
	Claimer claimer = open_claimer(definition, *request, &output);
	const bool is_settled =
		drain(definition, ring, request, {&claimer, try_directly, claimer.writer.context}, claimed);
	close_claimer(&claimer);
	return is_settled;
}

} // namespace queue_ext::claim
