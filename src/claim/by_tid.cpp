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
// row is still pending, in the lock modes its key.
static const char *
statement_text(Definition *definition)
{
	switch (definition->claim_mode) {
		case ClaimMode::update:
			return psprintf(
				"with candidate as materialized (%s for %s of t skip locked) update %s as t set %s"
				" from candidate where t.ctid operator(pg_catalog.=) candidate.candidate_tid"
				" returning t.*, candidate.candidate_tid, (%s)",
				candidates_text(definition, "t.ctid as candidate_tid", ""),
				lock_strength(definition), definition->source_name,
				definition::compiled_of(definition).on_claim,
				definition::compiled_of(definition).pending);
		case ClaimMode::transaction:
			return psprintf("%s for %s of t skip locked",
							candidates_text(definition,
											psprintf("t.*, t.ctid, %s", row_key(definition)),
											unknown_condition(definition)),
							lock_strength(definition));
		case ClaimMode::session:
			return candidates_text(definition, psprintf("%s, t, t.ctid", row_key(definition)),
								   unknown_condition(definition));
	}
	pg_unreachable();
}

namespace {

// The state of one claim_by_tid().
struct Claimer
{
	Definition *definition;
	const Output *output;
	Relation table;
	CandidateRow row;
};

// The candidates of one statement, and which of them it has returned.
struct Batch
{
	Candidate **candidates;
	int count;
	HeapTuple *rows; // of each candidate; null if it was not returned
};

} // namespace

// Leaves out the candidates that the statement cannot claim, and counts why.
static Batch
select_candidates(Claimer *claimer, Request *request, Candidate *candidates, int count,
				  RingCounters *counters)
{
	Batch batch{};
	batch.candidates = static_cast<Candidate **>(palloc(sizeof(Candidate *) * count));
	batch.rows = static_cast<HeapTuple *>(palloc0(sizeof(HeapTuple) * count));
	for (int i = 0; i < count; i++) {
		CHECK_FOR_INTERRUPTS();
		Candidate *candidate = &candidates[i];
		if (!fetch(&claimer->row, candidate))
			counters->gone++;
		else if (is_own(&claimer->row))
			counters->not_pending++;
		else if (claimer->definition->claim_mode != ClaimMode::session && is_taken(&claimer->row))
			counters->locked++;
		else {
			// A job sent after this call began may have a run_at after call_time and be due by now.
			if (claimer->row.claim->key.is_sorted && candidate->run_at > request->call_time)
				request->call_time = GetCurrentTimestamp();
			batch.candidates[batch.count++] = candidate;
		}
	}
	return batch;
}

static Datum
tids_of(const Batch &batch)
{
	auto *tids = static_cast<Datum *>(palloc(sizeof(Datum) * batch.count));
	for (int i = 0; i < batch.count; i++)
		tids[i] = PointerGetDatum(&batch.candidates[i]->tid);
	return PointerGetDatum(
		construct_array(tids, batch.count, TIDOID, sizeof(ItemPointerData), false, TYPALIGN_SHORT));
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

// Puts the rows of the last statement, which come as they lie in the table, in the order of their
// candidates; returns how many there are.
static uint64
put_in_order(const Claimer *claimer, Batch *batch, uint64 count)
{
	const int column = tid_column(claimer);
	for (uint64 i = 0; i < count; i++)
		for (int j = 0; j < batch->count; j++)
			if (batch->rows[j] == nullptr &&
				is_of_candidate(SPI_tuptable->vals[i], column, batch->candidates[j])) {
				batch->rows[j] = SPI_tuptable->vals[i];
				break;
			}
	uint64 place = 0;
	for (int i = 0; i < batch->count; i++)
		if (batch->rows[i] != nullptr)
			SPI_tuptable->vals[place++] = batch->rows[i];
	return place;
}

// Counts why the statement has not returned a candidate.
static void
count_vain(Claimer *claimer, const Batch &batch, RingCounters *counters)
{
	for (int i = 0; i < batch.count; i++) {
		if (batch.rows[i] != nullptr)
			continue;
		if (!fetch(&claimer->row, batch.candidates[i]))
			counters->gone++;
		else if (is_taken(&claimer->row))
			counters->locked++;
		else
			counters->not_pending++;
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

// Runs the statement for the batch.
static uint64
run_statement(const Claimer *claimer, const Request &request, const Batch &batch)
{
	Definition *definition = claimer->definition;
	const Statement &statement =
		definition::prepared_of(definition, Prepared::claim_by_tid, Access::by_tid,
								[&] { return statement_text(definition); });
	Arguments arguments = arguments_for(definition, request);
	arguments.set(Parameter::tids, tids_of(batch));
	if (definition->claim_mode != ClaimMode::update)
		return statement::run(statement, arguments);
	return with_own_update(definition->source,
						   [&] { return statement::run(statement, arguments); });
}

// See Trier (drain.hpp).
static Tried
try_all(void *state, Request *request, Candidate *candidates, int count)
{
	auto *claimer = static_cast<Claimer *>(state);
	Tried tried{};
	tried.due = PG_INT64_MAX;
	statement::with_spi([&] {
		Batch batch = select_candidates(claimer, request, candidates, count, &tried.counters);
		if (batch.count == 0)
			return;
		const uint64 returned =
			put_in_order(claimer, &batch, run_statement(claimer, *request, batch));
		if (claimer->definition->is_managed)
			tried.due = first_due(returned);
		const uint64 claimed = finish_claim(claimer, *request, returned);
		tried.counters.claims = static_cast<int64>(claimed);
		tried.counters.locked += static_cast<int64>(returned - claimed);
		count_vain(claimer, batch, &tried.counters);
	});
	return tried;
}

bool
claim_by_tid(Definition *definition, Ring *ring, Request *request, const Output &output,
			 uint64 *claimed)
{
	Claimer claimer{};
	claimer.definition = definition;
	claimer.output = &output;
	claimer.table = table_open(definition->source, NoLock);
	claimer.row = open_candidate_row(claimer.table, definition->claim);
	const bool is_settled = drain(definition, ring, request, {&claimer, try_all}, claimed);
	close_candidate_row(&claimer.row);
	table_close(claimer.table, NoLock);
	return is_settled;
}

} // namespace queue_ext::claim
