// by_tid.cpp - see by_tid.hpp.
//
// Candidates that are gone, or that another transaction has locked, are left out before the
// statement: that takes no XID, and the statement is spared. The statement locks the others that
// are pending and not locked, and writes or returns those:
//
//     with candidate as materialized (
//         select t.ctid as candidate_tid from jobs as t
//         where t.ctid = any ($20) and (<pending>) for no key update of t skip locked)
//     update jobs as t set <on_claim> from candidate where t.ctid = candidate_tid returning ...
//
// A single candidate takes no join, as most of a statement's cost is to set up its executor:
//
//     update jobs as t set <on_claim> where t.ctid = (select ... t.ctid = $23 ...) returning ...
//
// and no locking either, where the claimer can evaluate the condition itself and lock the row first:
//
//     update jobs as t set <on_claim> where t.ctid = $23 returning ...
//
// A row that changes between the statement's snapshot and its lock is locked and not returned, as
// its new version has another TID. It counts as gone: the call goes on until a sweep with a newer
// snapshot has read it, and claims it then if it is pending, since this transaction has its lock.
// A row whose update a trigger suppresses counts as not pending.

#include "../postgres.hpp"

#include "by_tid.hpp"

#include "../definition/compiled.hpp"
#include "../definition/definition_cache.hpp"
#include "../error.hpp"
#include "../held/rows.hpp"
#include "../row/rights.hpp"
#include "candidate_row.hpp"
#include "claim_text.hpp"
#include "count.hpp"
#include "drain.hpp"
#include "expiry_rule.hpp"
#include "own_update.hpp"
#include "portable.hpp"
#include "recurring.hpp"
#include "row_context.hpp"
#include "session.hpp"
#include "tid_text.hpp"
#include "writer.hpp"

namespace queue_ext::claim {

using definition::ClaimMode;
using definition::Definition;
using ring::Candidate;
using ring::Ring;
using statement::Arguments;
using statement::Parameter;
using statement::Statement;

namespace {

// A table that candidates are read from.
struct Leaf
{
	CandidateRow row;
	Leaf *next;
};

// The state of one claim_by_tid().
struct Claimer
{
	Definition *definition;
	const RingClaim *claim;
	const Output *output;
	CommandId first_command; // with which the call began
	Leaf *leaves;            // opened so far
	bool may_lock;           // single candidates, before the statement
};

// A candidate for the statement, and the row that it returned for it, or null.
struct Chosen
{
	Candidate *candidate;
	Oid table;
	HeapTuple row;
	ReadyJob job; // as it was before the statement
};

// The candidates for the statement; those of one table go into one run of it.
struct Batch
{
	Chosen *chosen;
	int count;
	bool is_locked; // there is one, which is pending, and which the claimer has locked
};

} // namespace

// Opens a table that has candidates, if it has a heap: a partition of a partition may have been
// dropped.
static Leaf *
open_leaf(Claimer *claimer, Oid table)
{
	// As the statement locks it: in mode session it only reads.
	const bool writes = claimer->definition->claim_mode != ClaimMode::session;
	Relation relation = try_relation_open(table, writes ? RowExclusiveLock : AccessShareLock);
	if (relation == nullptr)
		return nullptr;
	if (relation->rd_rel->relkind != RELKIND_RELATION ||
		relation->rd_rel->relam != HEAP_TABLE_AM_OID) {
		relation_close(relation, NoLock);
		return nullptr;
	}
	auto *leaf = static_cast<Leaf *>(palloc(sizeof(Leaf)));
	leaf->row = open_candidate_row(relation, claimer->claim, claimer->first_command);
	if (table != claimer->definition->source)
		leaf->row.expiry = expiry_columns(claimer->definition, table);
	leaf->next = claimer->leaves;
	claimer->leaves = leaf;
	return leaf;
}

// The means to read candidates of the table; null if it is none of the queue's.
static CandidateRow *
row_for(Claimer *claimer, Oid table)
{
	for (Leaf *leaf = claimer->leaves; leaf != nullptr; leaf = leaf->next)
		if (RelationGetRelid(leaf->row.table) == table)
			return &leaf->row;
	Leaf *leaf = is_leaf(claimer->claim, table) ? open_leaf(claimer, table) : nullptr;
	return leaf == nullptr ? nullptr : &leaf->row;
}

// The table of the candidate's row. A sorted ring's are all of the same.
static Oid
table_of(const Claimer *claimer, const Candidate &candidate)
{
	return claimer->claim->key.is_sorted ? claimer->definition->source : candidate.version.table;
}

// Counts a candidate, which is of that number, that another transaction has locked.
static void
note_locked(Tried *tried, int64 number)
{
	tried->counters.locked++;
	tried->locked |= UINT64CONST(1) << number;
}

// The job that was read last. A partition or child may have its columns in another order.
static ReadyJob
ready_job_of(const Claimer *claimer, const CandidateRow *row)
{
	const RingClaim *claim = claimer->claim;
	const Oid table = RelationGetRelid(row->table);
	if (table == claimer->definition->source || claim->ready_at == InvalidAttrNumber)
		return ready_job_in(claim, row->slot);
	return attached_job_in(get_attnum(table, claimer->definition->ages.ready_at), row->slot);
}

// Moves the clock of the call if the row that was read has become due since it began: its job was sent later, or
// its lease has ended.
static void
move_clock(const Claimer *claimer, const CandidateRow *row, Request *request)
{
	if (!claimer->claim->key.is_sorted)
		return;
	const auto is_to_come = [&](AttrNumber column) {
		bool is_null;
		const Datum time = slot_getattr(row->slot, column, &is_null);
		return !is_null && DatumGetTimestampTz(time) > request->call_time;
	};
	if (is_to_come(claimer->claim->managed.run_at) ||
		is_to_come(claimer->claim->managed.leased_until))
		request->call_time = GetCurrentTimestamp();
}

// Leaves out the candidates that the statement cannot claim, and counts why.
static Batch
select_candidates(Claimer *claimer, Request *request, Candidate *candidates, int count,
				  Tried *tried)
{
	Batch batch{};
	batch.chosen = static_cast<Chosen *>(palloc(sizeof(Chosen) * count));
	for (int i = 0; i < count; i++) {
		CHECK_FOR_INTERRUPTS();
		Candidate *candidate = &candidates[i];
		const Oid table = table_of(claimer, *candidate);
		CandidateRow *row = row_for(claimer, table);
		if (row == nullptr || !fetch(row, candidate))
			tried->counters.gone++;
		else if (is_own(row) || !is_of_kinds(row, request->kinds) ||
				 has_expired(row->expiry, row->slot)) {
			tried->has_own |= is_own(row);
			tried->counters.not_pending++;
		} else if (claimer->definition->claim_mode != ClaimMode::session && is_taken(row))
			note_locked(tried, i);
		else {
			move_clock(claimer, row, request);
			batch.chosen[batch.count++] = {candidate, table, nullptr, ready_job_of(claimer, row)};
		}
	}
	return batch;
}

// Whether the row that was read is pending.
static bool
is_pending_now(const Claimer *claimer, const CandidateRow *row, const Request &request)
{
	RingClaim *claim = ring_claim_of(claimer->definition);
	ExprContext *context = make_evaluation(claim, arguments_for(claimer->definition, request));
	bool is_it = false;
	row::with_use(&claim->use, [&] { is_it = is_pending(claim, context, row->slot); });
	FreeExprContext(context, true);
	return is_it;
}

// Locks the only candidate, the row that was read last, if it is pending; else counts why the
// statement is not to be run. A snapshot taken after that shows the version that is locked.
static void
lock_pending(const Claimer *claimer, const Request &request, Batch *batch, Tried *tried)
{
	Chosen *chosen = &batch->chosen[0];
	CandidateRow *row = &claimer->leaves->row;
	batch->count = 0;
	RowContext error_context;
	begin_context(&error_context, claimer->definition, act_of(ClaimStatement::claim_by_tid));
	if (!claimer->claim->has_policies)
		error_context.row = row->slot;
	const bool is_it = is_pending_now(claimer, row, request);
	TM_FailureData failure;
	const TM_Result result =
		!is_it ? TM_Ok
			   : table_tuple_lock(row->table, &chosen->candidate->tid, SnapshotSelf, row->slot,
								  GetCurrentCommandId(true), row->lock_mode, LockWaitSkip, 0,
								  &failure);
	end_context(&error_context);
	if (!is_it) {
		tried->counters.not_pending++;
		return;
	}
	batch->is_locked = result == TM_Ok;
	batch->count = batch->is_locked;
	if (result == TM_WouldBlock)
		note_locked(tried, 0);
	else if (result != TM_Ok)
		tried->counters.gone++;
}

static Datum
tids_of(const Batch &batch, Oid table)
{
	auto *tids = static_cast<Datum *>(palloc(sizeof(Datum) * batch.count));
	int count = 0;
	for (int i = 0; i < batch.count; i++)
		if (batch.chosen[i].table == table)
			tids[count++] = PointerGetDatum(&batch.chosen[i].candidate->tid);
	return PointerGetDatum(
		construct_array(tids, count, TIDOID, sizeof(ItemPointerData), false, TYPALIGN_SHORT));
}

// The number of the column of the last statement that has the TID: the one before the last, or in
// mode session the last. Raises 0A000 if a rule has rewritten the statement to another.
static int
tid_column(const Claimer *claimer)
{
	const TupleDesc columns = SPI_tuptable->tupdesc;
	const int number =
		claimer->definition->claim_mode == ClaimMode::session ? columns->natts : columns->natts - 1;
	if (number < 1 || SPI_gettypeid(columns, number) != TIDOID)
		error::rewritten();
	return number;
}

// Whether the row of the last statement is that candidate's.
static bool
is_of_candidate(HeapTuple row, int tid_column, const Candidate *candidate)
{
	bool is_null;
	const Datum tid = heap_getattr(row, tid_column, SPI_tuptable->tupdesc, &is_null);
	return !is_null && ItemPointerEquals(reinterpret_cast<ItemPointer>(DatumGetPointer(tid)),
										 const_cast<ItemPointer>(&candidate->tid));
}

// Notes that the last statement has returned the batch's only candidate, if it has. Raises 0A000 if
// a rule has rewritten the statement to another.
static void
match_row(Batch *batch, uint64 count)
{
	if (count > 1 || SPI_gettypeid(SPI_tuptable->tupdesc, SPI_tuptable->tupdesc->natts) != BOOLOID)
		error::rewritten();
	if (count == 1)
		batch->chosen[0].row = SPI_tuptable->vals[0];
}

// Notes which of the table's candidates the last statement has returned.
static void
match_rows(const Claimer *claimer, Batch *batch, Oid table, uint64 count)
{
	const int column = tid_column(claimer);
	for (uint64 i = 0; i < count; i++)
		for (int j = 0; j < batch->count; j++) {
			Chosen *chosen = &batch->chosen[j];
			if (chosen->row == nullptr && chosen->table == table &&
				is_of_candidate(SPI_tuptable->vals[i], column, chosen->candidate)) {
				chosen->row = SPI_tuptable->vals[i];
				break;
			}
		}
}

// Gives the result of the last run the rows of all runs, which come as they lie in their tables, in
// the order of their candidates; returns how many there are. All runs return the same columns.
static uint64
put_in_order(const Batch &batch)
{
	auto *rows = static_cast<HeapTuple *>(palloc(sizeof(HeapTuple) * batch.count));
	uint64 count = 0;
	for (int i = 0; i < batch.count; i++)
		if (batch.chosen[i].row != nullptr)
			rows[count++] = batch.chosen[i].row;
	SPI_tuptable->vals = rows;
	return count;
}

// Counts why the statement has not returned a candidate.
static void
count_vain(Claimer *claimer, const Batch &batch, const Candidate *candidates, Tried *tried)
{
	for (int i = 0; i < batch.count; i++) {
		const Chosen &chosen = batch.chosen[i];
		if (chosen.row != nullptr) {
			tried->won |= UINT64CONST(1) << (chosen.candidate - candidates);
			continue;
		}
		CandidateRow *row = row_for(claimer, chosen.table);
		if (row == nullptr || !fetch(row, chosen.candidate))
			tried->counters.gone++;
		else if (is_taken(row))
			note_locked(tried, chosen.candidate - candidates);
		else
			tried->counters.not_pending++;
	}
}

// When the first of the managed queue's rows that were returned becomes claimable again. A trigger
// may have written another lease than the claim's.
static TimestampTz
first_due(uint64 count)
{
	TimestampTz first = PG_INT64_MAX;
	for (uint64 i = 0; i < count; i++) {
		TimestampTz leased_until;
		TimestampTz run_at;
		if (get_time(SPI_tuptable->vals[i], "leased_until", &leased_until) &&
			get_time(SPI_tuptable->vals[i], "run_at", &run_at))
			first = Min(first, Max(leased_until, run_at));
	}
	return first;
}

// Claims by what the mode does with the rows that the statement has returned; returns how many.
static uint64
finish_claim(const Claimer *claimer, const Request &request, uint64 count)
{
	Definition *definition = claimer->definition;
	switch (definition->claim_mode) {
		case ClaimMode::update:
			check_written(definition, count);
			count = take_occurrences(definition, claimer->output->occurrences, count);
			put_rows(count, *claimer->output);
			return count;
		case ClaimMode::transaction:
			count = hold_rows(definition, count);
			put_rows(count, *claimer->output);
			return count;
		case ClaimMode::session:
			return claim_rows(definition, request, count, *claimer->output);
	}
	pg_unreachable();
}

// The statements for one partition or child, among those prepared; new ones take the place of those
// that were prepared first.
static PreparedLeaf *
prepared_leaf(Definition *definition, Oid table)
{
	constexpr int most = prepared_leaf_count;
	auto *kept = definition::beside<ClaimsKept>(definition);
	if (kept->leaves == nullptr)
		kept->leaves = static_cast<PreparedLeaf *>(
			definition::allocate_beside(definition, sizeof(PreparedLeaf) * most));
	for (int i = 0; i < most; i++)
		if (kept->leaves[i].table == table)
			return &kept->leaves[i];
	PreparedLeaf *leaf = &kept->leaves[kept->next_leaf];
	kept->next_leaf = (kept->next_leaf + 1) % most;
	definition::discard_after_calls(statement_at(definition, &leaf->many));
	definition::discard_after_calls(statement_at(definition, &leaf->one));
	leaf->table = table;
	return leaf;
}

static Statement *
statement_of(PreparedLeaf *leaf, TidForm form)
{
	return form == TidForm::many ? leaf->many : leaf->one;
}

static const Statement &
leaf_statement(Definition *definition, TidForm form, Oid table)
{
	Statement *found = statement_of(prepared_leaf(definition, table), form);
	if (found->is_prepared())
		return *found;
	Statement fresh{};
	const char *text = tid_text(definition, form, table);
	statement::Tables tables = definition::tables_in(definition, text);
	tables.leaf = table;
	statement::prepare(&fresh, text, definition->row_type, statement::Access::by_tid, tables,
					   {act_of(ClaimStatement::claim_by_tid), definition->name});
	fresh.follows_partitions = definition->is_partitioned;
	definition::note_growth(definition);
	// Parsing may have run user-defined code that claims, so it is looked up again.
	found = statement_of(prepared_leaf(definition, table), form);
	definition::discard_after_calls(found);
	*found = fresh;
	return *found;
}

static ClaimStatement
prepared_for(TidForm form)
{
	switch (form) {
		case TidForm::many:
			return ClaimStatement::claim_by_tid;
		case TidForm::one:
			return ClaimStatement::claim_one_by_tid;
		case TidForm::locked:
			return ClaimStatement::claim_locked_by_tid;
	}
	pg_unreachable();
}

static const Statement &
statement_for(const Claimer *claimer, TidForm form, Oid table)
{
	if (leaves_of(claimer->claim).tables != nullptr)
		return leaf_statement(claimer->definition, form, table);
	return prepared_of(
		claimer->definition, kept_for_claims(claimer->definition, prepared_for(form)),
		statement::Access::by_tid, [&] { return tid_text(claimer->definition, form, InvalidOid); });
}

// The row of a batch that has no other, if it was the last to be read and the caller may see it; or null.
static TupleTableSlot *
only_row(const Claimer *claimer, const Batch &batch)
{
	if (batch.count != 1 || claimer->claim->has_policies)
		return nullptr;
	const Chosen &chosen = batch.chosen[0];
	for (Leaf *leaf = claimer->leaves; leaf != nullptr; leaf = leaf->next) {
		TupleTableSlot *slot = leaf->row.slot;
		if (RelationGetRelid(leaf->row.table) == chosen.table && !TTS_EMPTY(slot) &&
			ItemPointerEquals(&slot->tts_tid, &chosen.candidate->tid))
			return slot;
	}
	return nullptr;
}

// Runs the statement for the batch's candidates of one table.
static void
run_for(const Claimer *claimer, const Request &request, Batch *batch, Oid table)
{
	Definition *definition = claimer->definition;
	const bool is_for_one = batch->count == 1 && definition->claim_mode == ClaimMode::update;
	const TidForm form = batch->is_locked ? TidForm::locked
						 : is_for_one     ? TidForm::one
										  : TidForm::many;
	// A copy: a nested call may replace the statement.
	const Statement statement = statement_for(claimer, form, table);
	Arguments arguments = arguments_for(definition, request);
	if (is_for_one)
		arguments.set(Parameter::tid, PointerGetDatum(&batch->chosen[0].candidate->tid));
	else
		arguments.set(Parameter::tids, tids_of(*batch, table));
	const auto run = [&] {
		RowContext context;
		begin_context(&context, definition, nullptr);
		context.row = only_row(claimer, *batch);
		const uint64 returned = statement::run(statement, arguments);
		end_context(&context);
		return returned;
	};
	const uint64 returned = definition->claim_mode == ClaimMode::update
								? with_own_update(definition->source, run)
								: run();
	if (is_for_one)
		match_row(batch, returned);
	else
		match_rows(claimer, batch, table, returned);
}

// Whether the statement has run for that candidate's table, with one before it.
static bool
is_run(const Batch &batch, int index)
{
	for (int i = 0; i < index; i++)
		if (batch.chosen[i].table == batch.chosen[index].table)
			return true;
	return false;
}

// Counts the jobs that the statement has returned. Those of a managed queue are claimed, as it has the
// mode update.
static void
count_claimed(const Claimer *claimer, const Batch &batch, const Request &request)
{
	for (int i = 0; i < batch.count; i++)
		if (batch.chosen[i].row != nullptr)
			count_claim(claimer->definition, batch.chosen[i].job, request.call_time,
						claimed_from(request));
}

// Leaves the rows out that were not handed out, though they were claimed: these are the first of the last statement.
static void
leave_out(Batch *batch, uint64 handed_out)
{
	uint64 next = 0;
	for (int i = 0; i < batch->count; i++) {
		Chosen *chosen = &batch->chosen[i];
		if (chosen->row == nullptr)
			continue;
		if (next < handed_out && SPI_tuptable->vals[next] == chosen->row)
			next++;
		else
			chosen->row = nullptr;
	}
}

// See Trier (drain.hpp).
static Tried
try_by_tid(void *state, Request *request, Candidate *candidates, int count)
{
	auto *claimer = static_cast<Claimer *>(state);
	Tried tried{};
	tried.due = PG_INT64_MAX;
	Batch batch = select_candidates(claimer, request, candidates, count, &tried);
	if (count == 1 && batch.count == 1 && claimer->may_lock && !is_writing(claimer->definition))
		lock_pending(claimer, *request, &batch, &tried);
	if (batch.count == 0)
		return tried;
	statement::with_spi([&] {
		for (int i = 0; i < batch.count; i++)
			if (!is_run(batch, i))
				run_for(claimer, *request, &batch, batch.chosen[i].table);
		const uint64 returned = put_in_order(batch);
		if (claimer->definition->is_managed)
			tried.due = first_due(returned);
		const uint64 claimed = finish_claim(claimer, *request, returned);
		tried.counters.claims = static_cast<int64>(claimed);
		tried.is_due_unknown = claimed > 0 && claimer->claim->due != nullptr;
		const bool writes = claimer->definition->claim_mode == ClaimMode::update;
		(writes ? tried.counters.not_pending : tried.counters.locked) +=
			static_cast<int64>(returned - claimed);
		count_vain(claimer, batch, candidates, &tried);
		if (writes)
			leave_out(&batch, claimed);
		count_claimed(claimer, batch, *request);
	});
	return tried;
}

// Whether a row may be locked before the statement, which has not yet checked the caller's
// privileges then: the caller must have UPDATE on what the statement writes, and the policies that
// would leave out a row must not apply.
static bool
may_lock_first(const Definition *definition)
{
	const RingClaim *claim = ring_claim_of(definition);
	if (definition->claim_mode != ClaimMode::update || claim->pending == nullptr ||
		has_policies_for_caller(definition))
		return false;
	if (row::has_rights(definition->source, ACL_UPDATE))
		return true;
	const int first = bms_next_member(definition->compiled->written, -1);
	const auto column = static_cast<AttrNumber>(first + FirstLowInvalidHeapAttributeNumber);
	return first >= 0 && row::has_right_on(definition->source, ACL_UPDATE, &column, 1);
}

bool
claim_by_tid(Definition *definition, Ring *ring, Request *request, const Output &output,
			 uint64 *claimed)
{
	Claimer claimer{definition, ring_claim_of(definition), &output, GetCurrentCommandId(false),
					nullptr,    may_lock_first(definition)};
	const bool is_settled =
		drain(definition, ring, request, {&claimer, try_by_tid, nullptr}, claimed);
	for (Leaf *leaf = claimer.leaves; leaf != nullptr; leaf = leaf->next) {
		close_candidate_row(&leaf->row);
		relation_close(leaf->row.table, NoLock);
	}
	return is_settled;
}

} // namespace queue_ext::claim
