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
//                before it released the lock (held_row.hpp).
//
// A TID that another row has reused is no candidate: that row is claimed when its own turn comes.

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

// The privileges that the executor would check for a claim in that mode.
static AclMode
rights_for(ClaimMode mode)
{
	return mode == ClaimMode::session ? ACL_SELECT : ACL_SELECT | ACL_UPDATE;
}

// Not within another evaluation of the same expressions, nor where this transaction has made rows
// claimable that the ring learns of at commit only.
bool
can_claim_directly(Definition *definition)
{
	return is_direct_allowed() && compiled_claim_of(definition)->is_direct &&
		   !is_writing(definition) && !has_wakes(definition->source) &&
		   row::has_rights(definition->source, rights_for(definition->claim_mode));
}

namespace {

// The state of one claim_direct().
struct Claimer
{
	Definition *definition;
	Request request; // move_clock() advances its call_time
	const Output *output;
	Writer writer;
	LockTupleMode lock_mode; // of the write
	CommandId first_command; // the command ID with which this call began
	BlockNumber block_count; // of the table, when last asked for
	TupleTableSlot *old_row; // the row version read
	TupleConversionMap *map; // to the result's row type; null where they are alike
	TupleTableSlot *result;
	RingCounters counters;
	bool needs_statement; // the next row cannot be claimed here
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

// On ERROR, the resource owner and the memory context release what it holds.
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

// Resets the claim's clock: the request's call_time and the expressions' parameter.
static void
move_clock(Claimer *claimer)
{
	claimer->request.call_time = GetCurrentTimestamp();
	ParamExternData *parameter = &claimer->writer.context->ecxt_param_list_info
									  ->params[static_cast<int>(Parameter::call_time)];
	parameter->value = TimestampTzGetDatum(claimer->request.call_time);
}

// Whether the row read is pending. A job sent after this call began may have a run_at after
// call_time and be due by now.
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

// Computes the new version by on_claim. Raises what the executor raises for a constraint that it
// violates.
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

// The row read, in a buffer: the table is a heap (row::is_plain()).
static const BufferHeapTupleTableSlot *
slot_of(const Claimer *claimer)
{
	return reinterpret_cast<const BufferHeapTupleTableSlot *>(claimer->old_row);
}

// Prunes the page if it has no room for one more version, and only then: the executor would try at
// nearly each visit, and log each pruning.
static void
make_room(const Claimer *claimer, const Candidate *candidate)
{
	const BufferHeapTupleTableSlot *slot = slot_of(claimer);
	// What the new version may need beyond the old one.
	constexpr Size growth = 64;
	// Read without the buffer lock, as a hint.
	const Size room = PageGetHeapFreeSpace(BufferGetPage(slot->buffer));
	if (room >= MAXALIGN(slot->base.tuple->t_len) + growth)
		return;
	// Pruning moves tuples within the page.
	ExecMaterializeSlot(claimer->old_row);
	const Buffer buffer =
		ReadBuffer(claimer->writer.table, ItemPointerGetBlockNumber(&candidate->tid));
	compat::prune_page(claimer->writer.table, buffer);
	ReleaseBuffer(buffer);
}

// Takes the row's lock without waiting. False if it is locked by another transaction, or not the
// newest version.
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

// Whether this transaction has written the row version read.
static bool
is_of_this_transaction(const Claimer *claimer)
{
	return TransactionIdIsValid(GetTopTransactionIdIfAny()) &&
		   TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(header_of(claimer->old_row)));
}

// Whether this call has written the row version read: its lease may be over by now, but one pop
// does not return a job twice.
static bool
is_own(const Claimer *claimer)
{
	return is_of_this_transaction(claimer) &&
		   HeapTupleHeaderGetCmin(header_of(claimer->old_row)) >= claimer->first_command;
}

// Whether the TID is valid and the table still has its block: VACUUM may have truncated the table
// before the caller locked it.
static bool
has_stored_tid(Claimer *claimer, const Candidate *candidate)
{
	if (!ItemPointerIsValid(&candidate->tid) ||
		ItemPointerGetOffsetNumber(&candidate->tid) > MaxOffsetNumber)
		return false;
	const BlockNumber block = ItemPointerGetBlockNumber(&candidate->tid);
	if (block >= claimer->block_count)
		claimer->block_count = RelationGetNumberOfBlocks(claimer->writer.table);
	return block < claimer->block_count;
}

// Whether the row read is the one that the candidate was made for. Another row that has reused the
// TID is claimed when its turn comes.
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

// Reads the candidate's row. If it cannot be claimed, counts why.
static bool
read(Claimer *claimer, Candidate *candidate)
{
	if (!has_stored_tid(claimer, candidate) ||
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

// Whether FOR KEY SHARE, as a foreign key's check takes it, conflicts with the write.
static bool
heeds_key_locks(const Claimer *claimer)
{
	return claimer->lock_mode == LockTupleExclusive;
}

// Whether a member of that multixact conflicts with the write.
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

// Whether another transaction in progress is changing the row version read, or has it locked. Only
// a guess, but trying would assign an XID.
static bool
is_taken(const Claimer *claimer)
{
	const HeapTupleHeader header = header_of(claimer->old_row);
	const Buffer buffer = slot_of(claimer)->buffer;
	// Read both under one lock: an XID taken for a multixact would raise an error.
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

// Claims by writing. Waits for nothing but an index entry: for a transaction that has written the
// same key into a unique index.
static bool
claim_by_update(Claimer *claimer, Candidate *candidate)
{
	const CommandId command = GetCurrentCommandId(false);
	if (!read(claimer, candidate))
		return false;
	// The executor checks foreign keys again when a version that this transaction has written is
	// replaced: the queued check of that version will find it gone.
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

// The row key of the row read, in per-tuple memory: good for this candidate only.
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

// Claims by the row lock. A row that this session has claimed before counts as locked.
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

// Tries the candidates; returns how many were won. An ERROR leaves them to the transaction
// callbacks.
static int
try_all(Claimer *claimer, Ring *ring, Candidate *candidates, const Taken &taken)
{
	const RingKey &key = claimer->writer.claim->key;
	int won = 0;
	claimer->counters = {};
	// Noted before anything can fail, so that a rollback puts them back.
	note_claims(ring, key, candidates, taken,
				claimer->definition->claim_mode == ClaimMode::transaction);
	for (int i = 0; i < taken.count && !claimer->needs_statement; i++) {
		CHECK_FOR_INTERRUPTS();
		ResetExprContext(claimer->writer.context);
		won += try_claim(claimer, &candidates[i]);
	}
	if (claimer->needs_statement)
		ask_for_sweep(ring, key); // for the candidates not tried
	claimer->counters.claims = won;
	add(ring, key, claimer->counters);
	note_tried(ring, key, taken);
	if (won > 0 && claimer->definition->is_managed)
		note_lease(ring, key, lease_end(claimer));
	return won;
}

namespace {

// What this call has read since its last sweep. If it has read the whole queue itself, to the end,
// and has claimed each candidate or found it locked or not pending, nothing is left to claim.
struct Pass
{
	bool is_whole; // no other backend has filled the ring since
	bool is_complete;
	int read;
	int passed; // candidates tried, and not gone
};

} // namespace

// Adds a read to the pass. A sweep begins a new pass; a read of another backend ends it.
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

// A candidate that was gone counts as not passed, since its row may be pending at another TID.
static bool
leaves_nothing(const Pass &pass)
{
	return pass.is_whole && pass.is_complete && pass.passed == pass.read;
}

// Whether it is certain that no row is claimable. Never without the trigger, which tells of rows
// that are written by plain SQL.
static bool
is_idle(const CompiledClaim *claim, Ring *ring, Wakes *wakes, TimestampTz call_time)
{
	if (!claim->has_wake_trigger)
		return false;
	// In this order: a transaction that is no longer under way has told the ring.
	const bool is_quiet = pg_atomic_read_u32(&wakes->under_way) == 0;
	pg_read_barrier();
	const uint32 wake_generation = pg_atomic_read_u32(&wakes->generation);
	return is_quiet && is_shared_by_all() &&
		   take(ring, claim->key, call_time, wake_generation, 0, nullptr).is_idle;
}

namespace {

// For telling what has changed since the call began.
struct Watch
{
	Wakes *wakes;
	uint32 sweep_generation;
};

} // namespace

// Whether the call may end. With some jobs it may rely on its own pass; with none there must have
// been a moment at which no row was claimable. A queue that is idle after another backend's sweep
// has had one: without a look at that, two backends would sweep in turns, each because the other's
// sweep had begun before its call.
static bool
is_done(const Claimer *claimer, Ring *ring, const Pass &pass, const Watch &watch, uint64 claimed)
{
	const CompiledClaim *claim = claimer->writer.claim;
	return (claimed > 0 && leaves_nothing(pass)) ||
		   is_idle(claim, ring, watch.wakes, claimer->request.call_time) ||
		   is_exhausted(ring, claim->key, claimer->request.call_time,
						pg_atomic_read_u32(&watch.wakes->generation), watch.sweep_generation);
}

// Claims from the ring until there are enough, or no row is claimable. False if the ring cannot
// decide: it was given to another queue, other backends were always faster, or a stray
// (segment.hpp) may claim without it; also if a row needs a statement.
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
	// Without a cursor a read cannot get past the first rows while those are locked.
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

// Claims from the ring, and the rest by a statement if the ring cannot decide.
static uint64
claim_from(Ring *ring, Definition *definition, const Request &request, const Output &output)
{
	uint64 claimed = 0;
	// Make what this command has written so far visible, and open to updates.
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
	// The ring may have been given away: look it up again next time.
	definition->claim->ring = nullptr;
	Request rest = request;
	rest.max_jobs -= static_cast<int>(claimed);
	return claimed + claim_portable(definition, rest, output);
}

// An idle queue is answered from shared memory alone.
uint64
claim_direct(Definition *definition, const Request &request, const Output &output)
{
	Ring *ring = ring_of(definition);
	const CompiledClaim *claim = compiled_claim_of(definition);
	uint64 claimed = 0;
	if (!is_idle(claim, ring, get_wakes(definition->source), request.call_time))
		claimed = claim_from(ring, definition, request, output);
	if (claimed == 0) {
		RingCounters counters{};
		counters.empty_pops = 1;
		add(ring, claim->key, counters);
	}
	return claimed;
}

} // namespace queue_ext::claim
