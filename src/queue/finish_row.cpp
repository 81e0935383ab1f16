// finish_row.cpp - see finish_row.hpp.

#include "../postgres.hpp"

#include "finish_row.hpp"

#include "../catalog/row_key.hpp"
#include "../claim/claim_text.hpp"
#include "../claim/compiled_claim.hpp"
#include "../definition/compiled.hpp"
#include "../error.hpp"
#include "../held/rows.hpp"
#include "../job/complete_row.hpp"
#include "../job/remove.hpp"
#include "archive_clearing.hpp"
#include "calls_kept.hpp"
#include "removed.hpp"

namespace queue_ext::queue {

using definition::Compiled;
using definition::Definition;
using statement::Arguments;
using statement::Parameter;
using statement::Row;

namespace {

// The statement of an action, and the fragment that it writes.
struct Rule
{
	CallStatement statement;
	const char *label;
	const char *assignments; // null: the queue has no such fragment
};

} // namespace

static Rule
rule_of(const Compiled &compiled, Action action)
{
	switch (action) {
		case Action::complete:
			return {CallStatement::complete_row, "on_complete", compiled.on_complete};
		case Action::release:
			return {CallStatement::release_row, "on_release", compiled.on_release};
		case Action::fail:
			return {CallStatement::fail_row, "on_fail", compiled.on_fail};
		case Action::extend:
			return {CallStatement::extend_row, "on_extend", compiled.on_extend};
		default:
			elog(ERROR, "no such action for rows");
	}
}

// The fence in claim mode update: compares the values that on_claim wrote, in the table and in the
// receipt. They are compared as bytes, which works for every type, and null equals null.
static const char *
claim_still_stands(const Definition *definition, const Compiled &compiled)
{
	if (definition->is_managed)
		return psprintf("t.attempt operator(pg_catalog.=) (%s).attempt"
						" and t.leased_until is not null",
						placeholder(Parameter::row));
	StringInfoData ours;
	StringInfoData theirs;
	initStringInfo(&ours);
	initStringInfo(&theirs);
	int member = -1;
	while ((member = bms_next_member(compiled.written, member)) >= 0) {
		const auto number = static_cast<AttrNumber>(member + FirstLowInvalidHeapAttributeNumber);
		const char *column = quote_identifier(get_attname(definition->source, number, false));
		const char *comma = ours.len > 0 ? ", " : "";
		appendStringInfo(&ours, "%st.%s", comma, column);
		appendStringInfo(&theirs, "%s(%s).%s", comma, placeholder(Parameter::row), column);
	}
	// Casts to record: two bare rows would be compared column by column.
	return psprintf("row(%s)::pg_catalog.record operator(pg_catalog.*=)"
					" row(%s)::pg_catalog.record",
					ours.data, theirs.data);
}

// What the completion of a managed queue's job returns. The receipt tells whether its claim was the last one, unless it
// is a text, whose row has only the key.
static const char *
told_of(Definition *definition)
{
	const claim::CompiledClaim *claim = claim::compiled_claim_of(definition);
	if (!claim->managed.has_columns)
		return "";
	const char *death = claim->managed.dead_at == InvalidAttrNumber
							? "t.leased_until"
							: psprintf("case when (%1$s).dead_at is not null or (%1$s).leased_until"
									   " is null then t.leased_until end",
									   placeholder(Parameter::row));
	return lease_text(definition, death);
}

// In a lock mode the key is fence enough, since finish_held() has checked the held row.
static const char *
text_of(Definition *definition, const Compiled &compiled, Action action, const char *assignments)
{
	const char *fence = key_matches_row(compiled.receipt_key);
	if (definition->claim_mode == definition::ClaimMode::update)
		fence = psprintf("%s and %s", fence, claim_still_stands(definition, compiled));
	if (assignments == nullptr)
		return removal_text(definition,
							{nullptr, fence, "completed", nullptr, false, told_of(definition)});
	const char *returned = action == Action::extend ? claim::whole_row(definition)
						   : definition->is_managed && action == Action::fail ? died_text()
																			  : "false";
	return psprintf("update %s as t set %s where %s returning %s", definition->source_name,
					assignments, fence, returned);
}

// Returns how often the job of the receipt has failed, for the backoff; 1 for an attached queue, which has no
// attempts. Raises what attempt_column() and note_failures() raise.
static int32
failures_of(Definition *definition, const Row &job, const FinishOptions &options)
{
	if (!definition->is_managed)
		return 1;
	HeapTupleHeader row = DatumGetHeapTupleHeader(job.value);
	bool has_no_id;
	bool has_no_attempt;
	job::Receipt receipt{};
	receipt.attempt = DatumGetInt32(
		GetAttributeByNum(row, definition::attempt_column(definition), &has_no_attempt));
	if (has_no_attempt)
		return 1;
	receipt.has_attempt = true;
	receipt.id = DatumGetInt64(GetAttributeByName(row, "id", &has_no_id));
	if (has_no_id)
		return receipt.attempt;
	statement::with_spi([&] { note_failures(definition, options, &receipt, 1); });
	return receipt.failures;
}

// Reads the attempt only where the backoff depends on it, so a changed column matters only there.
static Arguments
arguments_for(Definition *definition, Action action, const Row &job, const FinishOptions &options)
{
	Arguments arguments = common_arguments(definition, options);
	arguments.set_row(job.value, job.columns);
	if (action == Action::fail) {
		const int32 failures =
			options.retry_in == nullptr ? failures_of(definition, job, options) : 1;
		arguments.set(Parameter::retry_at,
					  TimestampTzGetDatum(retry_time(definition, options, failures)));
		arguments.set(Parameter::retry, BoolGetDatum(!options.is_final));
	}
	if (options.run_at != nullptr)
		arguments.set(Parameter::retry_at, TimestampTzGetDatum(*options.run_at));
	if (options.error != nullptr)
		arguments.set(Parameter::error, PointerGetDatum(options.error));
	if (options.progress != 0)
		arguments.set(Parameter::new_progress, options.progress);
	return arguments;
}

// Raises 55000 if the table has no key that identifies the receipt's row, 22004 if the row has a
// null in that key.
static void
check_key(Definition *definition, const Row &job)
{
	if (definition::compiled_of(definition).row_key.has_key())
		return;
	const catalog::RowKey &key = definition::receipt_key_of(definition);
	for (int i = 0; i < key.length; i++) {
		bool is_null;
		(void) GetAttributeByNum(DatumGetHeapTupleHeader(job.value), key.columns[i].number,
								 &is_null);
		if (is_null)
			error::null_in_key(get_rel_name(definition->source),
							   get_attname(definition->source, key.columns[i].number, false));
	}
}

// Returns the row key of the receipt's row, in SPI's memory context.
static char *
row_key_of(Definition *definition, const Arguments &arguments)
{
	const Compiled &compiled = definition::compiled_of(definition);
	const statement::Statement &statement =
		prepared_of(definition, kept_for_calls(definition, CallStatement::row_key), [&] {
			return psprintf(
				"select %s",
				row_key_text(compiled.row_key, psprintf("(%s)", placeholder(Parameter::row))));
		});
	run(statement, arguments);
	return SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
}

// The statement may run user-defined code that releases, detaches or drops, so the held row is not
// looked up after it.
static Finished
write_row(Definition *definition, Action action, const Rule &rule, const Arguments &arguments,
		  Datum *extended)
{
	const statement::Statement &statement = prepared_of(
		definition, kept_for_calls(definition, rule.statement), statement::Access::by_row_key, [&] {
			return text_of(definition, definition::compiled_of(definition), action,
						   rule.assignments);
		});
	if (run(statement, arguments) == 0)
		return Finished::no;
	bool is_null;
	const Datum value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
	if (action == Action::extend)
		*extended = SPI_datumTransfer(value, false, -1);
	const bool is_dead = action == Action::fail && !is_null && DatumGetBool(value);
	count_finished(definition, action, 1, is_dead);
	if (rule.assignments == nullptr) {
		const TimestampTz now = GetCurrentTimestamp();
		note_completed(definition, now);
		note_archived(definition, now);
	}
	return is_dead ? Finished::died : Finished::yes;
}

static Finished
yes_if(bool is_done)
{
	return is_done ? Finished::yes : Finished::no;
}

// For the modes in which a claim is a lock. Finishes the held row before the write, which may run
// user-defined code that releases it; the rollback after an error restores it.
static Finished
finish_held(Definition *definition, Action action, const Rule &rule, const Arguments &arguments,
			Datum *extended)
{
	const char *row_key = row_key_of(definition, arguments);
	if (row_key == nullptr)
		return Finished::no;
	const bool is_ours = action == Action::extend ? held::is_held(definition, row_key)
												  : held::finish_held_row(definition, row_key);
	const bool writes = rule.assignments != nullptr || action == Action::complete;
	if (is_ours && writes)
		return write_row(definition, action, rule, arguments, extended);
	count_finished(definition, action, is_ours, 0);
	return yes_if(is_ours);
}

// Removes a managed queue's job without a statement; job::can_remove_directly() has found its
// columns unchanged.
static bool
remove_job(Definition *definition, const Row &job)
{
	bool is_null;
	bool has_no_attempt;
	HeapTupleHeader row = DatumGetHeapTupleHeader(job.value);
	job::Receipt receipt{};
	receipt.id = DatumGetInt64(GetAttributeByName(row, "id", &is_null));
	receipt.attempt = DatumGetInt32(GetAttributeByName(row, "attempt", &has_no_attempt));
	receipt.has_attempt = true;
	return !is_null && !has_no_attempt &&
		   job::remove_directly(definition, &receipt, 1, &receipt.id) > 0;
}

// Completes a row of an attached queue without a statement, but for rows that need one.
static bool
complete_directly(Definition *definition, const Rule &rule, const Row &job,
				  const Arguments &arguments)
{
	if (definition->claim_mode != definition::ClaimMode::update) {
		const char *row_key = job::row_key_of_receipt(definition, job);
		if (row_key == nullptr || !held::finish_held_row(definition, row_key))
			return false;
	}
	const job::Completed completed = job::complete_directly(definition, job, arguments);
	bool is_done = completed == job::Completed::done;
	count_finished(definition, Action::complete, is_done, 0);
	if (completed == job::Completed::by_statement)
		statement::with_spi([&] {
			is_done =
				write_row(definition, Action::complete, rule, arguments, nullptr) != Finished::no;
		});
	return is_done;
}

// Counts how long the job of the receipt has run, where that says when it was claimed.
static void
count_run(Definition *definition, Action action, const Row &job, const FinishOptions &options)
{
	if (action != Action::complete && action != Action::fail)
		return;
	const AttrNumber number = claim::compiled_claim_of(definition)->claimed_at;
	bool is_null = true;
	Datum claimed_at = 0;
	if (number != InvalidAttrNumber)
		claimed_at = GetAttributeByNum(DatumGetHeapTupleHeader(job.value), number, &is_null);
	if (!is_null)
		count_run(definition, DatumGetTimestampTz(claimed_at), options);
}

Finished
finish_row(Definition *definition, Action action, const Row &job, const FinishOptions &options,
		   Datum *extended)
{
	const Compiled &compiled = definition::compiled_of(definition);
	const Rule rule = rule_of(compiled, action);
	const bool is_lock = definition->claim_mode != definition::ClaimMode::update;
	if (rule.assignments == nullptr &&
		(action == Action::extend ||
		 (action != Action::complete && (!is_lock || options.is_final))))
		error::no_fragment(definition->name, rule.label);
	check_options(definition, options);
	// Compiling may have run user-defined code that has altered the table.
	statement::check_readable(job.columns);
	check_key(definition, job);

	const Arguments arguments = arguments_for(definition, action, job, options);
	if (action == Action::complete && definition->is_managed &&
		job::can_remove_directly(definition))
		return yes_if(remove_job(definition, job));
	Finished finished = Finished::no;
	if (action == Action::complete && job::can_complete_directly(definition))
		finished = yes_if(complete_directly(definition, rule, job, arguments));
	else
		statement::with_spi([&] {
			finished = is_lock ? finish_held(definition, action, rule, arguments, extended)
							   : write_row(definition, action, rule, arguments, extended);
		});
	if (finished != Finished::no)
		count_run(definition, action, job, options);
	return finished;
}

} // namespace queue_ext::queue
