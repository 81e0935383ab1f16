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
// A row that changes between the statement's snapshot and its lock is locked and not returned, as
// its new version has another TID. It counts as gone: the call goes on until a sweep with a newer
// snapshot has read it, and claims it then if it is pending, since this transaction has its lock.
// A row whose update a trigger suppresses counts as not pending.

#include "../postgres.hpp"

#include "by_tid.hpp"

#include "../definition/compiled.hpp"
#include "../definition/definition_cache.hpp"
#include "../error.hpp"
#include "candidate_row.hpp"
#include "claim_text.hpp"
#include "drain.hpp"
#include "held_row.hpp"
#include "own_update.hpp"
#include "portable.hpp"
#include "session.hpp"

namespace queue_ext::claim {

using definition::ClaimMode;
using definition::Definition;
using definition::Prepared;
using statement::Access;
using statement::Arguments;
using statement::Parameter;
using statement::Statement;

// Selects these columns of the candidates that are pending. condition: "", or beginning with
// " and ".
static const char *
candidates_text(Definition *definition, const char *columns, const char *condition)
{
	return psprintf("select %s from %s as t where t.ctid operator(pg_catalog.=) any (%s)"
					" and (%s)%s",
					columns, definition->source_name, statement::placeholder(Parameter::tids),
					definition::compiled_of(definition).pending, condition);
}

// The last columns are the TID and what the claim mode needs. In mode update that is whether the
// row is still pending, in the lock modes its key. leaf: the only table to have rows of, or
// InvalidOid.
static const char *
statement_text(Definition *definition, Oid leaf)
{
	const char *in_leaf =
		OidIsValid(leaf)
			? psprintf(" and t.tableoid operator(pg_catalog.=) %u::pg_catalog.oid", leaf)
			: "";
	switch (definition->claim_mode) {
		case ClaimMode::update:
			return psprintf(
				"with candidate as materialized (%s for %s of t skip locked) update %s as t set %s"
				" from candidate where t.ctid operator(pg_catalog.=) candidate.candidate_tid%s"
				" returning t.*, candidate.candidate_tid, (%s)",
				candidates_text(definition, "t.ctid as candidate_tid", in_leaf),
				lock_strength(definition), definition->source_name,
				definition::compiled_of(definition).on_claim, in_leaf,
				definition::compiled_of(definition).pending);
		case ClaimMode::transaction:
			return psprintf(
				"%s for %s of t skip locked",
				candidates_text(definition, psprintf("t.*, t.ctid, %s", row_key(definition)),
								psprintf("%s%s", in_leaf, unknown_condition(definition))),
				lock_strength(definition));
		case ClaimMode::session:
			return candidates_text(definition, psprintf("%s, t, t.ctid", row_key(definition)),
								   psprintf("%s%s", in_leaf, unknown_condition(definition)));
	}
	pg_unreachable();
}

namespace {

// A table of which candidates are read.
struct Leaf
{
	CandidateRow row;
	Leaf *next;
};

// The state of one claim_by_tid().
struct Claimer
{
	Definition *definition;
	const CompiledClaim *claim;
	const Output *output;
	CommandId first_command; // with which the call began
	Leaf *leaves;            // opened so far
};

// A candidate for the statement, and the row that it returned for it, or null.
struct Chosen
{
	Candidate *candidate;
	Oid table;
	HeapTuple row;
};

// The candidates for the statement; those of one table go into one run of it.
struct Batch
{
	Chosen *chosen;
	int count;
};

} // namespace

// Opens the table, of which candidates are, if it has a heap: it may have been dropped, if it is a
// partition of a partition.
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
		else if (is_own(row))
			tried->counters.not_pending++;
		else if (claimer->definition->claim_mode != ClaimMode::session && is_taken(row))
			note_locked(tried, i);
		else {
			// A job sent after this call began may have a run_at after call_time and be due by now.
			if (claimer->claim->key.is_sorted && candidate->run_at > request->call_time)
				request->call_time = GetCurrentTimestamp();
			batch.chosen[batch.count++] = {candidate, table, nullptr};
		}
	}
	return batch;
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
		if (chosen.row != nullptr)
			continue;
		CandidateRow *row = row_for(claimer, chosen.table);
		if (row == nullptr || !fetch(row, chosen.candidate))
			tried->counters.gone++;
		else if (is_taken(row))
			note_locked(tried, chosen.candidate - candidates);
		else
			tried->counters.not_pending++;
	}
}

// The value of that column of a returned row; false if it is null or there is no such column.
static bool
get_time(HeapTuple row, const char *name, TimestampTz *time)
{
	const TupleDesc columns = SPI_tuptable->tupdesc;
	const int number = SPI_fnumber(columns, name);
	if (number <= 0 || SPI_gettypeid(columns, number) != TIMESTAMPTZOID)
		return false;
	bool is_null;
	*time = DatumGetTimestampTz(heap_getattr(row, number, columns, &is_null));
	return !is_null;
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

// The statement for one partition or child, among those prepared; a new one takes the place of the
// one that was prepared first.
static const Statement &
leaf_statement(Definition *definition, Oid table)
{
	constexpr int most = definition::prepared_leaf_count;
	if (definition->leaves == nullptr)
		definition->leaves = static_cast<definition::PreparedLeaf *>(
			MemoryContextAllocZero(definition->context, sizeof(definition::PreparedLeaf) * most));
	for (int i = 0; i < most; i++)
		if (definition->leaves[i].table == table)
			return definition->leaves[i].statement;
	Statement fresh{};
	const char *text = statement_text(definition, table);
	statement::Tables tables = definition::tables_in(definition, text);
	tables.leaf = table;
	statement::prepare(&fresh, text, definition->row_type, Access::by_tid, tables,
					   {act_of(Prepared::claim_by_tid), definition->name});
	fresh.follows_partitions = definition->is_partitioned;
	definition::note_growth(definition);
	definition::PreparedLeaf *leaf = &definition->leaves[definition->next_leaf];
	definition->next_leaf = (definition->next_leaf + 1) % most;
	definition::discard_after_calls(&leaf->statement);
	*leaf = {table, fresh};
	return leaf->statement;
}

static const Statement &
statement_for(const Claimer *claimer, Oid table)
{
	if (claimer->claim->leaves != nullptr)
		return leaf_statement(claimer->definition, table);
	return definition::prepared_of(claimer->definition, Prepared::claim_by_tid, Access::by_tid,
								   [&] { return statement_text(claimer->definition, InvalidOid); });
}

// Runs the statement for the batch's candidates of one table.
static void
run_for(const Claimer *claimer, const Request &request, Batch *batch, Oid table)
{
	Definition *definition = claimer->definition;
	// A copy: a nested call may replace the statement.
	const Statement statement = statement_for(claimer, table);
	Arguments arguments = arguments_for(definition, request);
	arguments.set(Parameter::tids, tids_of(*batch, table));
	const auto run = [&] {
		return statement::run(statement, arguments);
	};
	const uint64 returned = definition->claim_mode == ClaimMode::update
								? with_own_update(definition->source, run)
								: run();
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

// See Trier (drain.hpp).
static Tried
try_all(void *state, Request *request, Candidate *candidates, int count)
{
	auto *claimer = static_cast<Claimer *>(state);
	Tried tried{};
	tried.due = PG_INT64_MAX;
	Batch batch = select_candidates(claimer, request, candidates, count, &tried);
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
		tried.counters.locked += static_cast<int64>(returned - claimed);
		count_vain(claimer, batch, candidates, &tried);
	});
	return tried;
}

bool
claim_by_tid(Definition *definition, Ring *ring, Request *request, const Output &output,
			 uint64 *claimed)
{
	Claimer claimer{definition, definition->claim, &output, GetCurrentCommandId(false), nullptr};
	const bool is_settled = drain(definition, ring, request, {&claimer, try_all}, claimed);
	for (Leaf *leaf = claimer.leaves; leaf != nullptr; leaf = leaf->next) {
		close_candidate_row(&leaf->row);
		relation_close(leaf->row.table, NoLock);
	}
	return is_settled;
}

} // namespace queue_ext::claim
