// direct.cpp - see direct.hpp.
//
// A candidate names a place in the table. The row version there is read with
// SnapshotSelf: committed, or this transaction's own, and not yet replaced. If it is
// pending by the compiled expression, it is claimed at once, without waiting:
//
//   update       The claim is written over it; heap_update() refuses a version that
//                somebody has changed or locked meanwhile, and that is the end of the
//                candidate.
//   transaction  Its lock is taken, which is refused for the same reasons.
//   session      The advisory lock of its key is taken first, and only then is the row
//                read: whoever had the lock before may have finished the job, and has
//                committed that before letting go (held_row.hpp).
//
// A place that has been given to another row since is no candidate: that row's turn has
// not come, or it has a candidate of its own.

#include "../postgres.hpp"

#include "direct.hpp"

#include "../error.hpp"
#include "../row/rights.hpp"
#include "claim_text.hpp"
#include "shared_memory.hpp"
#include "filler.hpp"
#include "held_row.hpp"
#include "path.hpp"
#include "portable.hpp"
#include "segment.hpp"
#include "transaction_callbacks.hpp"
#include "writer.hpp"

namespace queue_ext::claim {

using definition::ClaimMode;
using definition::Definition;
using statement::Parameter;

// What a claim does to a row, the executor would want these rights for.
static AclMode
rights_for(ClaimMode mode)
{
	return mode == ClaimMode::session ? ACL_SELECT : ACL_SELECT | ACL_UPDATE;
}

bool
can_claim_directly(Definition *definition)
{
	return is_direct_allowed() && compiled_claim_of(definition)->is_direct &&
		   !is_writing(definition) && !has_wakes(definition->source) &&
		   row::has_rights(definition->source, rights_for(definition->claim_mode));
}

namespace {

// One call.
struct Claimer
{
	Definition *definition;
	Request request; // its call_time moves on with each sweep
	const Output *output;
	Writer writer;
	LockTupleMode lock_mode; // of the write
	CommandId first_command; // that this call has written by
	BlockNumber block_count; // of the table, as far as it was asked for
	TupleTableSlot *old_row;
	TupleConversionMap *map; // to the result's shape; null where they are alike
	TupleTableSlot *result;
	RingCounters counters;
	bool needs_statement; // for the next row
};

} // namespace

static TimestampTz
lease_end(const Claimer *claimer)
{
	const Interval *lease = definition::lease_of(claimer->definition, claimer->request.lease);
	return DatumGetTimestampTz(DirectFunctionCall2(timestamptz_pl_interval,
												   TimestampTzGetDatum(claimer->request.call_time),
												   IntervalPGetDatum(lease)));
}

static Claimer
open_claimer(Definition *definition, const Request &request, const Output *output)
{
	Claimer claimer{};
	claimer.definition = definition;
	claimer.request = request;
	claimer.output = output;
	claimer.first_command = GetCurrentCommandId(false);
	const bool writes = definition->claim_mode == ClaimMode::update;
	claimer.writer = open_writer(definition, arguments_for(definition, request),
								 writes ? CMD_UPDATE : CMD_SELECT);
	Relation table = claimer.writer.table;
	claimer.lock_mode = row::lock_mode_for(table, claimer.writer.claim->written);
	claimer.old_row = table_slot_create(table, nullptr);
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
	ExecDropSingleTupleTableSlot(claimer->old_row);
	close_writer(&claimer->writer);
}

static bool
is_pending(const Claimer *claimer, TupleTableSlot *row)
{
	claimer->writer.context->ecxt_scantuple = row;
	return ExecQual(claimer->writer.claim->pending, claimer->writer.context);
}

// From here on it is now.
static void
move_clock(Claimer *claimer)
{
	claimer->request.call_time = GetCurrentTimestamp();
	ParamExternData *parameter = &claimer->writer.context->ecxt_param_list_info
									  ->params[static_cast<int>(Parameter::call_time)];
	parameter->value = TimestampTzGetDatum(claimer->request.call_time);
}

// Whether the row read is pending. A job that was sent after this call had begun may be
// due later than that, and is due now.
static bool
is_pending_by_now(Claimer *claimer, const Candidate &candidate)
{
	if (is_pending(claimer, claimer->old_row))
		return true;
	if (candidate.run_at <= claimer->request.call_time)
		return false;
	move_clock(claimer);
	return is_pending(claimer, claimer->old_row);
}

// The row as on_claim makes it.
static void
make_new_row(const Claimer *claimer)
{
	const Writer *writer = &claimer->writer;
	const CompiledClaim *claim = writer->claim;
	TupleTableSlot *row = writer->row;
	const TupleDesc descriptor = RelationGetDescr(writer->table);
	slot_getallattrs(claimer->old_row);
	ExecClearTuple(row);
	memcpy(row->tts_values, claimer->old_row->tts_values, sizeof(Datum) * descriptor->natts);
	memcpy(row->tts_isnull, claimer->old_row->tts_isnull, sizeof(bool) * descriptor->natts);
	for (int i = 0; i < descriptor->natts; i++)
		if (TupleDescAttr(descriptor, i)->attisdropped)
			row->tts_isnull[i] = true;
	writer->context->ecxt_scantuple = claimer->old_row;
	for (int i = 0; i < claim->column_count; i++) {
		const ColumnValue &column = claim->columns[i];
		const int index = column.number - 1;
		row->tts_values[index] =
			ExecEvalExprSwitchContext(column.value, writer->context, &row->tts_isnull[index]);
	}
	ExecStoreVirtualTuple(row);
	row->tts_tableOid = RelationGetRelid(writer->table);
	if (!keeps_constraints(writer, claim->columns, claim->column_count))
		raise_violation(writer);
}

// The row read, which lies in a buffer.
static const BufferHeapTupleTableSlot *
slot_of(const Claimer *claimer)
{
	return reinterpret_cast<const BufferHeapTupleTableSlot *>(claimer->old_row);
}

// Versions that claims and completions leave behind are removed when a page has no
// room for one more, and not at each visit, as the executor does it.
static void
make_room(const Claimer *claimer, const Candidate *candidate)
{
	const BufferHeapTupleTableSlot *slot = slot_of(claimer);
	// What the new version may need beyond the old one.
	constexpr Size growth = 64;
	// Read without a lock: it is a hint.
	const Size room = PageGetHeapFreeSpace(BufferGetPage(slot->buffer));
	if (room >= MAXALIGN(slot->base.tuple->t_len) + growth)
		return;
	// Pruning moves rows about.
	ExecMaterializeSlot(claimer->old_row);
	const Buffer buffer =
		ReadBuffer(claimer->writer.table, ItemPointerGetBlockNumber(&candidate->tid));
	compat::prune_page(claimer->writer.table, buffer);
	ReleaseBuffer(buffer);
}

// Takes the row's lock without waiting.
static bool
lock_row(const Claimer *claimer, ItemPointer tid)
{
	TM_FailureData failure;
	return table_tuple_lock(claimer->writer.table, tid, SnapshotSelf, claimer->old_row,
							GetCurrentCommandId(true), LockTupleNoKeyExclusive, LockWaitSkip, 0,
							&failure) == TM_Ok;
}

static void
put(const Claimer *claimer, TupleTableSlot *row)
{
	if (claimer->map != nullptr)
		row = execute_attr_map_slot(claimer->map->attrMap, row, claimer->result);
	tuplestore_puttupleslot(claimer->output->store, row);
}

static HeapTupleHeader
header_of(const TupleTableSlot *row)
{
	return reinterpret_cast<const BufferHeapTupleTableSlot *>(row)->base.tuple->t_data;
}

// Whether this transaction has written the row read.
static bool
is_of_this_transaction(const Claimer *claimer)
{
	return TransactionIdIsValid(GetTopTransactionIdIfAny()) &&
		   TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(header_of(claimer->old_row)));
}

// Whether this call has written the row read: its lease may be over by now, but one pop
// does not hand out a job twice.
static bool
is_own(const Claimer *claimer)
{
	return is_of_this_transaction(claimer) &&
		   HeapTupleHeaderGetCmin(header_of(claimer->old_row)) >= claimer->first_command;
}

// Whether the table may have that place (still): VACUUM may have given its block back,
// before we locked the table.
static bool
has_place(Claimer *claimer, const Candidate *candidate)
{
	if (!ItemPointerIsValid(&candidate->tid) ||
		ItemPointerGetOffsetNumber(&candidate->tid) > MaxOffsetNumber)
		return false;
	const BlockNumber block = ItemPointerGetBlockNumber(&candidate->tid);
	if (block >= claimer->block_count)
		claimer->block_count = RelationGetNumberOfBlocks(claimer->writer.table);
	return block < claimer->block_count;
}

// Whether the row read is the one that the candidate was made for. Another row that was
// given the place is claimed when its turn comes.
static bool
is_same(const Claimer *claimer, const Candidate &candidate)
{
	const CompiledClaim *claim = claimer->writer.claim;
	TupleTableSlot *row = claimer->old_row;
	if (!claim->key.is_sorted)
		return HeapTupleHeaderGetRawXmin(header_of(row)) == candidate.writer;
	const auto value = [&](AttrNumber column) {
		bool is_null;
		return slot_getattr(row, column, &is_null);
	};
	return SortKey{DatumGetInt16(value(claim->priority)), DatumGetTimestampTz(value(claim->run_at)),
				   DatumGetInt64(value(claim->id))} == candidate.sort_key();
}

// Reads the candidate's row. Counts why not.
static bool
read(Claimer *claimer, Candidate *candidate)
{
	if (!has_place(claimer, candidate) ||
		!table_tuple_fetch_row_version(claimer->writer.table, &candidate->tid, SnapshotSelf,
									   claimer->old_row) ||
		!is_same(claimer, *candidate)) {
		claimer->counters.gone++;
		return false;
	}
	if (is_own(claimer) || !is_pending_by_now(claimer, *candidate)) {
		claimer->counters.not_pending++;
		return false;
	}
	return true;
}

// Whether a lock of the row's key alone, a foreign key's, is in the way of the write.
static bool
heeds_key_locks(const Claimer *claimer)
{
	return claimer->lock_mode == LockTupleExclusive;
}

// Whether one of the transactions that have locked the row together is in the way.
static bool
is_locked_by_any(const Claimer *claimer, MultiXactId lockers, uint16 mask)
{
	if (HEAP_LOCKED_UPGRADED(mask))
		return false;
	MultiXactMember *members;
	const int count =
		GetMultiXactIdMembers(lockers, &members, false, HEAP_XMAX_IS_LOCKED_ONLY(mask));
	bool is_locked = false;
	for (int i = 0; i < count && !is_locked; i++)
		is_locked = (members[i].status != MultiXactStatusForKeyShare || heeds_key_locks(claimer)) &&
					!TransactionIdIsCurrentTransactionId(members[i].xid) &&
					TransactionIdIsInProgress(members[i].xid);
	if (count > 0)
		pfree(members);
	return is_locked;
}

// Whether somebody is about to change the row read, or has locked it, as far as can be
// seen without trying, which would take a XID.
static bool
is_taken(const Claimer *claimer)
{
	const HeapTupleHeader header = header_of(claimer->old_row);
	const Buffer buffer = slot_of(claimer)->buffer;
	// The two must be of one moment: an XID taken for a multixact would be an error.
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	const uint16 mask = header->t_infomask;
	const TransactionId locker = HeapTupleHeaderGetRawXmax(header);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	if ((mask & HEAP_XMAX_INVALID) != 0)
		return false;
	if ((mask & HEAP_XMAX_IS_MULTI) != 0)
		return is_locked_by_any(claimer, locker, mask);
	return ((mask & HEAP_LOCK_MASK) != HEAP_XMAX_KEYSHR_LOCK || heeds_key_locks(claimer)) &&
		   !TransactionIdIsCurrentTransactionId(locker) && TransactionIdIsInProgress(locker);
}

// Whether the version that was read is there still, as far as this transaction is
// concerned: code of the user's, run since that command, may have replaced it, which
// heap_update() would take for an error.
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

static bool
claim_by_update(Claimer *claimer, Candidate *candidate)
{
	const CommandId command = GetCurrentCommandId(false);
	if (!read(claimer, candidate))
		return false;
	// The executor checks a foreign key again of a version that replaces the transaction's
	// own, as the check of that one, which may be still to come, then finds it gone.
	if (claimer->writer.claim->has_foreign_key && is_of_this_transaction(claimer)) {
		claimer->needs_statement = true;
		return false;
	}
	if (is_taken(claimer)) {
		claimer->counters.locked++;
		return false;
	}
	make_room(claimer, candidate);
	make_new_row(claimer);
	compat::UpdatedIndexes updated;
	Writer *writer = &claimer->writer;
	if (!is_unwritten(claimer, candidate, command) ||
		row::update_at_once(writer->table, &candidate->tid, writer->claim->written,
							claimer->old_row, writer->row, &updated) != TM_Ok) {
		claimer->counters.locked++;
		return false;
	}
	row::insert_index_entries(&writer->target, writer->row, updated);
	const Definition *definition = claimer->definition;
	if (is_pending(claimer, claimer->writer.row))
		error::still_pending(definition->name, definition->fragments.pending,
							 definition->fragments.on_claim);
	put(claimer, claimer->writer.row);
	return true;
}

// The row key of the row read, in the context of its evaluation.
static const char *
row_key_of(const Claimer *claimer)
{
	claimer->writer.context->ecxt_scantuple = claimer->old_row;
	bool is_null;
	const Datum row_key = ExecEvalExprSwitchContext(claimer->writer.claim->row_key,
													claimer->writer.context, &is_null);
	MemoryContext old = MemoryContextSwitchTo(claimer->writer.context->ecxt_per_tuple_memory);
	const char *result = is_null ? "" : TextDatumGetCString(row_key);
	MemoryContextSwitchTo(old);
	return result;
}

static bool
claim_by_row_lock(Claimer *claimer, Candidate *candidate)
{
	if (!read(claimer, candidate))
		return false;
	const char *row_key = row_key_of(claimer);
	if (is_known(claimer->definition->source, row_key) || !lock_row(claimer, &candidate->tid)) {
		claimer->counters.locked++;
		return false;
	}
	hold_row(claimer->definition->source, row_key);
	put(claimer, claimer->old_row);
	return true;
}

static bool
claim_by_session_lock(Claimer *claimer, Candidate *candidate)
{
	if (!read(claimer, candidate))
		return false;
	const Oid table = claimer->definition->source;
	const char *row_key = row_key_of(claimer);
	const HeldId held = try_hold(claimer->definition, row_key);
	if (held == 0) {
		claimer->counters.locked++;
		return false;
	}
	if (!read(claimer, candidate) || strcmp(row_key_of(claimer), row_key) != 0 ||
		!has_hold(table, row_key, held)) {
		pass_by(table, row_key, held);
		return false;
	}
	put(claimer, claimer->old_row);
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

// Tries the candidates; returns how many were won.
static int
try_all(Claimer *claimer, Ring *ring, Candidate *candidates, const Taken &taken)
{
	const RingKey &key = claimer->writer.claim->key;
	int won = 0;
	claimer->counters = {};
	// Noted first: should this call fail, the candidates go back.
	note_claims(ring, key, candidates, taken,
				claimer->definition->claim_mode == ClaimMode::transaction);
	for (int i = 0; i < taken.count && !claimer->needs_statement; i++) {
		CHECK_FOR_INTERRUPTS();
		ResetExprContext(claimer->writer.context);
		won += try_claim(claimer, &candidates[i]);
	}
	if (claimer->needs_statement)
		ask_for_sweep(ring, key); // for those that were not tried
	claimer->counters.claims = won;
	add(ring, key, claimer->counters);
	note_tried(ring, key, taken);
	if (won > 0 && claimer->definition->is_managed)
		note_lease(ring, key, lease_end(claimer));
	return won;
}

namespace {

// How far this call has come since it swept: what it has read itself, to the end, and
// found locked or not pending, all of it, leaves nothing to claim.
struct Pass
{
	bool is_whole; // nobody else has filled the ring meanwhile
	bool is_complete;
	int read;
	int passed;
};

} // namespace

static void
follow(Pass *pass, const Filled &filled)
{
	if (!filled.is_mine || (!filled.is_sweep && !pass->is_whole)) {
		pass->is_whole = false;
		return;
	}
	if (filled.is_sweep)
		*pass = {true, false, 0, 0};
	pass->read += filled.added;
	pass->is_complete = filled.is_complete;
}

static bool
leaves_nothing(const Pass &pass)
{
	return pass.is_whole && pass.is_complete && pass.passed == pass.read;
}

// Whether nothing is claimable for sure.
static bool
is_idle(Ring *ring, const RingKey &key, Wakes *wakes, TimestampTz call_time)
{
	// In this order: what is no longer under way has been told.
	const bool is_quiet = pg_atomic_read_u32(&wakes->under_way) == 0;
	pg_read_barrier();
	const uint32 wake_generation = pg_atomic_read_u32(&wakes->generation);
	return is_quiet && is_shared_by_all() &&
		   take(ring, key, call_time, wake_generation, 0, nullptr).is_idle;
}

namespace {

// What has changed since the call began is told by these.
struct Watch
{
	Wakes *wakes;
	uint32 sweep_generation;
};

} // namespace

// Whether there is nothing more for this call. One that has some jobs already need not
// be sure.
static bool
is_done(const Claimer *claimer, Ring *ring, const Pass &pass, const Watch &watch, uint64 claimed)
{
	return (claimed > 0 && leaves_nothing(pass)) ||
		   is_exhausted(ring, claimer->writer.claim->key, claimer->request.call_time,
						pg_atomic_read_u32(&watch.wakes->generation), watch.sweep_generation);
}

// Claims from the ring until there are enough, or nothing is claimable. False when the
// ring cannot tell: it was taken for another queue, others were always faster, or some
// backend claims without it; and when a row needs a statement.
static bool
drain(Claimer *claimer, Ring *ring, uint64 *claimed)
{
	constexpr int run_length = 64;
	Candidate candidates[run_length];
	Definition *definition = claimer->definition;
	const Request &request = claimer->request;
	const RingKey &key = claimer->writer.claim->key;
	const auto wanted = static_cast<uint64>(request.max_jobs);
	const Watch watch{get_wakes(definition->source), last_sweep(ring, key)};
	// Without a cursor what stands behind the first rows is out of reach while those
	// are locked.
	const bool has_cursor = claimer->writer.claim->order_count > 0;
	const int most_futile = has_cursor ? 100 : 1;
	Pass pass{};
	Waits waits{};
	int futile = 0;
	prepare_note(ring, key);
	while (*claimed < wanted) {
		CHECK_FOR_INTERRUPTS();
		const int asked = static_cast<int>(Min(wanted - *claimed, static_cast<uint64>(run_length)));
		const Taken taken = take(ring, key, request.call_time,
								 pg_atomic_read_u32(&watch.wakes->generation), asked, candidates);
		if (taken.is_foreign)
			return false;
		if (taken.count > 0) {
			*claimed += try_all(claimer, ring, candidates, taken);
			if (claimer->needs_statement)
				return false;
			pass.passed += taken.count - static_cast<int>(claimer->counters.gone);
			if (taken.is_low && has_cursor) {
				move_clock(claimer);
				follow(&pass, fill_ahead(definition, ring, request));
			}
			continue;
		}
		if (is_done(claimer, ring, pass, watch, *claimed))
			return *claimed > 0 || is_shared_by_all();
		if (futile == most_futile)
			return false;
		move_clock(claimer);
		const Filled filled = fill_or_wait(definition, ring, request, &waits);
		if (filled.is_foreign || filled.is_stuck)
			return false;
		futile += !filled.is_waiting;
		move_clock(claimer);
		follow(&pass, filled);
		if (filled.is_mine && filled.is_sweep && filled.read == 0)
			return true;
	}
	return true;
}

// Claims by way of the ring; what that cannot settle, by a statement.
static uint64
claim_from(Ring *ring, Definition *definition, const Request &request, const Output &output)
{
	uint64 claimed = 0;
	// What this command has written so far is to be seen, and may be written over.
	CommandCounterIncrement();
	const HeldId begun = begin_passing();
	Claimer claimer = open_claimer(definition, request, &output);
	const bool is_settled = drain(&claimer, ring, &claimed);
	close_claimer(&claimer);
	if (definition->claim_mode == ClaimMode::session)
		forget_passed(begun);
	if (claimed > 0)
		CommandCounterIncrement();
	if (is_settled)
		return claimed;
	// The ring may have been given away: next time, ask for it anew.
	definition->claim->ring = nullptr;
	Request rest = request;
	rest.max_jobs -= static_cast<int>(claimed);
	return claimed + claim_portable(definition, rest, output);
}

uint64
claim_direct(Definition *definition, const Request &request, const Output &output)
{
	Ring *ring = ring_of(definition);
	const RingKey &key = compiled_claim_of(definition)->key;
	uint64 claimed = 0;
	if (!compiled_claim_of(definition)->has_wake_trigger ||
		!is_idle(ring, key, get_wakes(definition->source), request.call_time))
		claimed = claim_from(ring, definition, request, output);
	if (claimed == 0) {
		RingCounters counters{};
		counters.empty_pops = 1;
		add(ring, key, counters);
	}
	return claimed;
}

} // namespace queue_ext::claim
