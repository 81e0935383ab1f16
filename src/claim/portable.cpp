// portable.cpp - see portable.hpp.
//
// In mode update one statement locks the first max_jobs pending rows that no other transaction has
// locked, and writes the claim into them by key. The list of rows is a materialized CTE, since a
// sub-select that runs twice would lock, and claim, too many. A table without a key takes two
// statements: the second finds the rows by TID where the first has locked them, under a newer
// snapshot, so that it sees the versions that were locked. In mode transaction the locking is all
// there is.
//
// The limit is a constant in the text: for a parameter the planner assumes a tenth of the table,
// and does not choose the index.

#include "../postgres.hpp"

#include "portable.hpp"

#include "../catalog/column.hpp"
#include "../catalog/row_key.hpp"
#include "../definition/compiled.hpp"
#include "../error.hpp"
#include "../held/rows.hpp"
#include "../wake/written.hpp"
#include "claim_text.hpp"
#include "claims_kept.hpp"
#include "count.hpp"
#include "recurring.hpp"
#include "session.hpp"

namespace queue_ext::claim {

using catalog::RowKey;
using definition::ClaimMode;
using definition::Definition;
using ring::KindForm;
using statement::Arguments;
using statement::Parameter;
using statement::Statement;
using wake::at_once;

// write_text() puts there whether the row is still pending.
static bool
last_column_is_true(HeapTuple row, TupleDesc descriptor)
{
	bool is_null;
	const Datum value = heap_getattr(row, descriptor->natts, descriptor, &is_null);
	return !is_null && DatumGetBool(value);
}

void
check_written(const Definition *definition, uint64 count)
{
	for (uint64 i = 0; i < count; i++)
		if (last_column_is_true(SPI_tuptable->vals[i], SPI_tuptable->tupdesc))
			error::still_pending(definition->name, definition->fragments.pending,
								 definition->fragments.on_claim);
}

// Passes on the tables and TIDs of the rows that the last statement has locked.
static void
set_tids(Arguments *arguments, uint64 count)
{
	auto *tables = static_cast<Datum *>(palloc(sizeof(Datum) * count));
	auto *tids = static_cast<Datum *>(palloc(sizeof(Datum) * count));
	for (uint64 i = 0; i < count; i++) {
		bool is_null;
		tables[i] = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &is_null);
		tids[i] = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2, &is_null);
	}
	const int length = static_cast<int>(count);
	arguments->set(
		Parameter::tables,
		PointerGetDatum(construct_array(tables, length, OIDOID, sizeof(Oid), true, TYPALIGN_INT)));
	arguments->set(Parameter::tids,
				   PointerGetDatum(construct_array(tids, length, TIDOID, sizeof(ItemPointerData),
												   false, TYPALIGN_SHORT)));
}

// Counts an attached queue's jobs that the last statement has claimed: it returns them as they are
// now.
static void
count_attached(Definition *definition, const Request &request, uint64 count)
{
	const AttrNumber ready_at = compiled_claim_of(definition)->ready_at;
	if (ready_at == InvalidAttrNumber ||
		bms_is_member(ready_at - FirstLowInvalidHeapAttributeNumber,
					  definition::compiled_of(definition).written))
		return;
	for (uint64 i = 0; i < count; i++) {
		TimestampTz when;
		if (get_time(SPI_tuptable->vals[i], definition->ages.ready_at, &when))
			count_claim(definition, ready_job(when, false, 0), request.call_time,
						ClaimedFrom::other);
	}
}

// A managed queue's job that the last statement has claimed, as it was before; false if the owner has
// changed the columns.
static bool
get_job(HeapTuple row, ReadyJob *job)
{
	TimestampTz run_at;
	if (!get_time(row, "run_at", &run_at))
		return false;
	TimestampTz leased_until = 0;
	const bool was_leased = get_time(row, former_lease, &leased_until);
	*job = ready_job(run_at, was_leased, leased_until);
	const TupleDesc columns = SPI_tuptable->tupdesc;
	const AttrNumber number = catalog::find_column(columns, "priority", INT2OID);
	bool is_null;
	if (number != InvalidAttrNumber) {
		const Datum priority = heap_getattr(row, number, columns, &is_null);
		*job = managed_job(DatumGetInt16(priority), run_at, was_leased, leased_until);
	}
	return true;
}

// Counts the jobs that the last statement has claimed.
static void
count_claimed(Definition *definition, const Request &request, uint64 count)
{
	if (!definition->is_managed)
		count_attached(definition, request, count);
	for (uint64 i = 0; definition->is_managed && i < count; i++) {
		ReadyJob job;
		if (get_job(SPI_tuptable->vals[i], &job))
			count_claim(definition, job, request.call_time, ClaimedFrom::other);
	}
}

// In a table without a key, the first statement only locks.
static uint64
claim_by_update(Definition *definition, const Request &request, const Output &output)
{
	Arguments arguments = arguments_for(definition, request);
	const Statement statement =
		claim_statement(definition, request.max_jobs, form_of(request.kinds));
	uint64 claimed = statement::run(statement, arguments);
	if (!definition::compiled_of(definition).row_key.has_key() && claimed > 0) {
		set_tids(&arguments, claimed);
		claimed = statement::run(
			prepared_of(definition, kept_for_claims(definition, ClaimStatement::claim_located),
						[&] { return write_located_text(definition); }),
			arguments);
	}
	check_written(definition, claimed);
	claimed = take_occurrences(definition, output.occurrences, claimed);
	put_rows(claimed, output);
	count_claimed(definition, request, claimed);
	return claimed;
}

uint64
hold_rows(Definition *definition, uint64 locked)
{
	const TupleDesc descriptor = locked > 0 ? SPI_tuptable->tupdesc : nullptr;
	uint64 claimed = 0;
	for (uint64 i = 0; i < locked; i++) {
		HeapTuple row = SPI_tuptable->vals[i];
		const char *row_key = SPI_getvalue(row, descriptor, descriptor->natts);
		// "pending" may have a function that has claimed this row first.
		if (held::is_known(definition->source, row_key))
			continue;
		held::hold_row(definition->source, row_key);
		SPI_tuptable->vals[claimed++] = row;
	}
	return claimed;
}

// The row locks of the statement are the claim.
static uint64
claim_by_lock(Definition *definition, const Request &request, const Output &output)
{
	const Statement statement =
		claim_statement(definition, request.max_jobs, form_of(request.kinds));
	const uint64 claimed =
		hold_rows(definition, statement::run(statement, arguments_for(definition, request)));
	put_rows(claimed, output);
	return claimed;
}

void
check_key(Definition *definition)
{
	const definition::Compiled &compiled = definition::compiled_of(definition);
	if (definition->claim_mode == ClaimMode::update)
		return;
	const RowKey &row_key = compiled.row_key;
	if (definition->claim_mode == ClaimMode::session && !row_key.has_key())
		error::no_key(get_rel_name(definition->source), compiled.key_advice.command,
					  compiled.key_advice.obstacle);
	if (OidIsValid(catalog::type_without_text(row_key)))
		error::key_without_text(get_rel_name(definition->source),
								catalog::type_without_text(row_key));
}

static uint64
claim_by_statement(Definition *definition, const Request &request, const Output &output)
{
	switch (definition->claim_mode) {
		case ClaimMode::update:
			return claim_by_update(definition, request, output);
		case ClaimMode::transaction:
			return claim_by_lock(definition, request, output);
		case ClaimMode::session:
			return claim_by_session(definition, request, output);
	}
	pg_unreachable();
}

// Whether a row is pending that this session may claim, locked or not.
static bool
is_any_pending(Definition *definition, const Request &request)
{
	constexpr ClaimStatement forms[] = {ClaimStatement::any_pending,
										ClaimStatement::any_pending_of_one,
										ClaimStatement::any_pending_of_some};
	const KindForm form = form_of(request.kinds);
	const Statement &statement =
		prepared_of(definition, kept_for_claims(definition, forms[static_cast<int>(form)]),
					ring::access_of(form, definition::compiled_of(definition).access), [&] {
						const bool is_lock = definition->claim_mode != ClaimMode::update;
						const char *condition =
							is_lock ? unknown_condition(definition) : ring::kind_condition(form);
						return read_text(definition, "1", condition, 1);
					});
	Arguments arguments = arguments_for(definition, request);
	bool is_any = false;
	statement::with_newest(&arguments, [&](Snapshot snapshot) {
		is_any = statement::run_under(snapshot, statement, arguments) > 0;
		SPI_freetuptable(SPI_tuptable);
	});
	return is_any;
}

// Other backends may have taken all rows that the statement's snapshot shows before it gets to
// them, and the snapshot does not show rows committed since: so the claim is repeated while any row
// is pending, a few times at most. And while a statement has found occurrences that are not handed out: each is out of
// the way then, as the clock of the call stays from there on.
static uint64
claim_by_statements(Definition *definition, Request request, const Output &output)
{
	constexpr int tries = 5;
	uint64 claimed = 0;
	int dropped = count_dropped(output.occurrences);
	for (int i = 1;;) {
		CHECK_FOR_INTERRUPTS();
		const uint64 rows = claim_by_statement(definition, request, output);
		claimed += rows;
		request.max_jobs -= static_cast<int>(rows);
		const int dropped_by_now = count_dropped(output.occurrences);
		const bool has_dropped = dropped_by_now > dropped;
		dropped = dropped_by_now;
		if (request.max_jobs == 0 || (claimed > 0 && !has_dropped) ||
			(!has_dropped && i++ == tries))
			return claimed;
		// What this call has claimed must not become pending for it.
		if (claimed == 0 && dropped == 0)
			request.call_time = GetCurrentTimestamp();
		if (!is_any_pending(definition, request))
			return claimed;
	}
}

uint64
claim_portable(Definition *definition, const Request &request, const Output &output)
{
	uint64 claimed = 0;
	statement::with_spi([&] {
		check_key(definition);
		claimed = claim_by_statements(definition, request, output);
	});
	if (claimed > 0)
		wake::note_writes(definition->source, at_once);
	else if (may_recur(definition))
		send_lost(definition, GetCurrentTimestamp());
	// Where the claim is a row lock, the end of the transaction releases it.
	if (claimed > 0 && definition->claim_mode == ClaimMode::transaction)
		wake::note_wake(definition->source);
	return claimed;
}

} // namespace queue_ext::claim
