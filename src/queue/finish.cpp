// finish.cpp - see finish.hpp.

#include "../postgres.hpp"

#include "finish.hpp"

#include "../array.hpp"
#include "../definition/archiving.hpp"
#include "../definition/compiled.hpp"
#include "../definition/shape.hpp"
#include "../error.hpp"
#include "../interval.hpp"
#include "../row/rights.hpp"
#include "../stats/transaction_counters.hpp"
#include "../wake/written.hpp"
#include "archive_clearing.hpp"
#include "backoff.hpp"
#include "calls_kept.hpp"
#include "removed.hpp"

namespace queue_ext::queue {

using job::Receipt;
using definition::Definition;
using statement::Arguments;
using statement::Parameter;

// Whether there is a jsonb, of one job or of any of many: the array, if it is not null, may have nulls alone.
static bool
has_any(Datum one, ArrayType *many)
{
	if (many == nullptr)
		return one != 0;
	Datum *values;
	bool *nulls;
	int count;
	deconstruct_array(many, JSONBOID, -1, false, TYPALIGN_INT, &values, &nulls, &count);
	for (int i = 0; i < count; i++)
		if (!nulls[i])
			return true;
	return false;
}

static void
check_result(const Definition *definition)
{
	if (!definition->is_archived)
		error::no_archive_for_result(definition->name, definition->source_name);
	if (definition->archive_name == nullptr)
		error::archive_missing(definition->name, definition->source_name);
	if (!definition::keeps_results(definition->archive))
		error::archive_without_results(definition->name, definition->source_name,
									   definition->archive_name);
}

void
check_options(Definition *definition, const FinishOptions &options)
{
	if (has_any(options.result, options.results))
		check_result(definition);
	const bool has_progress = has_any(options.progress, options.progresses);
	if (!has_progress && !options.is_final)
		return;
	const definition::Compiled &compiled = definition::compiled_of(definition);
	if (has_progress && !compiled.keeps_progress) {
		if (definition->is_managed)
			error::column_missing(definition->name, "progress", definition->source_name);
		error::keeps_no_progress(definition->name);
	}
	if (options.is_final && !compiled.fails_for_good)
		error::retries_always(definition->name);
}

// Returns an array of what value_of(receipt, &is_null) returns for each receipt.
template <typename ValueOf>
static Datum
array_of(const Receipt *receipts, int count, Oid type, ValueOf &&value_of)
{
	int16 length;
	bool by_value;
	char align;
	get_typlenbyvalalign(type, &length, &by_value, &align);
	auto *values = static_cast<Datum *>(palloc(sizeof(Datum) * count));
	auto *nulls = static_cast<bool *>(palloc0(sizeof(bool) * count));
	for (int i = 0; i < count; i++)
		values[i] = value_of(receipts[i], &nulls[i]);
	int dimension = count;
	int lower_bound = 1;
	return PointerGetDatum(construct_md_array(values, nulls, 1, &dimension, &lower_bound, type,
											  length, by_value, align));
}

static Datum
ids_of(const Receipt *receipts, int count)
{
	return array_of(receipts, count, INT8OID,
					[](const Receipt &r, bool *) { return Int64GetDatum(r.id); });
}

static Datum
attempts_of(const Receipt *receipts, int count)
{
	return array_of(receipts, count, INT4OID, [](const Receipt &r, bool *is_null) {
		*is_null = !r.has_attempt;
		return Int32GetDatum(r.attempt);
	});
}

// Whether the table counts releases, and the caller may read that.
static bool
may_read_released(const Definition *definition)
{
	return definition::counts_releases(definition->source) &&
		   row::may_read(definition->source, get_attnum(definition->source, "released"));
}

// What stands in the way of a scan of the whole table here is said at fence_text() (finish_text.cpp).
static const char *
released_text(const Definition *definition)
{
	return psprintf("select (select t.released from %s as t"
					" where t.id operator(pg_catalog.>=) r.receipt_id"
					" and t.id operator(pg_catalog.<=) r.receipt_id"
					" and t.attempt operator(pg_catalog.=) r.receipt_attempt limit 1)"
					" from rows from (pg_catalog.unnest(%s), pg_catalog.unnest(%s)) with ordinality"
					" as r(receipt_id, receipt_attempt, receipt_number)"
					" order by r.receipt_number",
					definition->source_name, placeholder(Parameter::ids),
					placeholder(Parameter::attempts));
}

void
note_failures(Definition *definition, const FinishOptions &options, Receipt *receipts, int count)
{
	for (int i = 0; i < count; i++)
		receipts[i].failures = receipts[i].attempt;
	if (options.retry_in != nullptr || options.is_final || !may_read_released(definition))
		return;
	Arguments arguments(options.call_time);
	arguments.set(Parameter::ids, ids_of(receipts, count));
	arguments.set(Parameter::attempts, attempts_of(receipts, count));
	const uint64 found =
		run_newest(prepared_of(definition, kept_for_calls(definition, CallStatement::released),
							   [&] { return released_text(definition); }),
				   arguments);
	for (int i = 0; i < count && static_cast<uint64>(i) < found; i++) {
		bool is_null;
		const Datum released =
			SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &is_null);
		// An owner may have written anything there.
		if (!is_null && DatumGetInt32(released) > 0)
			receipts[i].failures = Max(1, receipts[i].attempt - DatumGetInt32(released));
	}
}

TimestampTz
retry_time(const Definition *definition, const FinishOptions &options, int32 failures)
{
	if (options.retry_in != nullptr)
		return end_of_interval(options.call_time, options.retry_in);
	return options.call_time + backoff(to_microseconds(definition->backoff_base),
									   to_microseconds(definition->backoff_cap), failures,
									   pg_prng_double(&pg_global_prng_state));
}

TimestampTz
earliest_retry(const Definition *definition, const FinishOptions &options)
{
	if (options.retry_in != nullptr)
		return end_of_interval(options.call_time, options.retry_in);
	const int64 least =
		Min(to_microseconds(definition->backoff_base), to_microseconds(definition->backoff_cap));
	return options.call_time + least / 2; // what jitter leaves
}

Arguments
common_arguments(const Definition *definition, const FinishOptions &options)
{
	Arguments arguments(options.call_time);
	arguments.set(Parameter::lease, IntervalPGetDatum(exact_length(
										options.call_time, lease_of(definition, options.lease))));
	set_slot(definition, options.call_time, &arguments);
	return arguments;
}

void
count_finished(Definition *definition, Action action, int64 number, int64 dead)
{
	switch (action) {
		case Action::complete:
			stats::count(definition, stats::Counter::completed, number);
			return;
		case Action::fail:
			stats::count(definition, stats::Counter::failed, number);
			if (!definition->is_managed)
				return;
			stats::count(definition, stats::Counter::retried, number - dead);
			stats::count(definition, stats::Counter::dead, dead);
			return;
		case Action::release:
			stats::count(definition, stats::Counter::released, number);
			return;
		case Action::cancel:
			stats::count(definition, stats::Counter::cancelled, number);
			return;
		case Action::requeue: {
			stats::TransactionCounters *counters =
				number == 0 ? nullptr : stats::counters_of(definition);
			if (counters != nullptr)
				counters->requeued += number;
			return;
		}
		case Action::extend:
			return;
	}
}

void
count_run(Definition *definition, TimestampTz claimed_at, const FinishOptions &options)
{
	stats::TransactionCounters *counters = stats::counters_of(definition);
	if (counters != nullptr)
		stats::add_duration(&counters->counts.running, options.call_time - claimed_at);
}

// Counts how long the jobs in SPI_tuptable have run, if the statement has returned that.
static void
count_runs(Definition *definition, const FinishOptions &options)
{
	const int column = SPI_fnumber(SPI_tuptable->tupdesc, "claimed_at");
	for (uint64 i = 0; column > 0 && i < SPI_tuptable->numvals; i++) {
		bool is_null;
		const Datum claimed_at =
			SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, column, &is_null);
		if (!is_null)
			count_run(definition, DatumGetTimestampTz(claimed_at), options);
	}
}

// Whether that job in SPI_tuptable, which has failed, has died.
static bool
has_died(uint64 row)
{
	bool is_null;
	const Datum is_dead =
		SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, 2, &is_null);
	return !is_null && DatumGetBool(is_dead);
}

// Counts the jobs in SPI_tuptable. Returns how many of them have died.
static int64
count_returned(Definition *definition, Action action, const FinishOptions &options)
{
	count_runs(definition, options);
	int64 dead = 0;
	for (uint64 i = 0; action == Action::fail && i < SPI_tuptable->numvals; i++)
		dead += has_died(i) ? 1 : 0;
	count_finished(definition, action, static_cast<int64>(SPI_tuptable->numvals), dead);
	if (final_state_of(action) == nullptr || SPI_tuptable->numvals == 0)
		return dead;
	if (action == Action::complete)
		note_completed(definition, options.call_time);
	else {
		note_cancelled(definition, options.call_time);
		wake::note_writes(definition->source, wake::at_once);
	}
	note_archived(definition, options.call_time);
	return dead;
}

Finished
finish_one(Definition *definition, Action action, const Receipt &receipt,
		   const FinishOptions &options)
{
	Arguments arguments = common_arguments(definition, options);
	arguments.set(Parameter::id, Int64GetDatum(receipt.id));
	if (receipt.has_attempt)
		arguments.set(Parameter::attempt, Int32GetDatum(receipt.attempt));
	if (options.run_at != nullptr)
		arguments.set(Parameter::retry_at, TimestampTzGetDatum(*options.run_at));
	if (options.error != nullptr)
		arguments.set(Parameter::error, PointerGetDatum(options.error));
	if (options.result != 0)
		arguments.set(Parameter::result, options.result);
	if (options.progress != 0)
		arguments.set(Parameter::new_progress, options.progress);

	Finished finished = Finished::no;
	statement::with_spi([&] {
		if (action == Action::fail) {
			Receipt failed = receipt;
			note_failures(definition, options, &failed, 1);
			arguments.set(Parameter::retry_at,
						  TimestampTzGetDatum(retry_time(definition, options, failed.failures)));
			arguments.set(Parameter::retry, BoolGetDatum(!options.is_final));
		}
		const bool is_done = run(finish_statement(definition, action, false), arguments) > 0;
		const bool is_dead = count_returned(definition, action, options) > 0;
		if (is_done)
			finished = is_dead ? Finished::died : Finished::yes;
	});
	return finished;
}

static int
by_id(const void *left, const void *right)
{
	const int64 left_id = static_cast<const Receipt *>(left)->id;
	const int64 right_id = static_cast<const Receipt *>(right)->id;
	return left_id < right_id ? -1 : left_id > right_id;
}

void
sort_receipts(Receipt *receipts, int count)
{
	qsort(receipts, count, sizeof(Receipt), by_id);
}

// Puts an array, of text or jsonb, which is in the caller's order, into the order of the sorted
// receipts.
static Datum
sorted(const Receipt *receipts, int count, ArrayType *array)
{
	Datum *values;
	bool *nulls;
	int length;
	deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_INT, &values, &nulls,
					  &length);
	return array_of(receipts, count, ARR_ELEMTYPE(array),
					[&](const Receipt &receipt, bool *is_null) {
						*is_null = nulls[receipt.position];
						return values[receipt.position];
					});
}

void
finish_many(Definition *definition, Action action, Receipt *receipts, int count,
			const FinishOptions &options)
{
	sort_receipts(receipts, count);
	Arguments arguments = common_arguments(definition, options);
	arguments.set(Parameter::ids, ids_of(receipts, count));
	arguments.set(Parameter::attempts, attempts_of(receipts, count));
	if (action == Action::fail) {
		note_failures(definition, options, receipts, count);
		arguments.set(Parameter::retry_ats,
					  array_of(receipts, count, TIMESTAMPTZOID, [&](const Receipt &r, bool *) {
						  return TimestampTzGetDatum(retry_time(definition, options, r.failures));
					  }));
		arguments.set(Parameter::retry, BoolGetDatum(!options.is_final));
	}
	if (options.run_at != nullptr)
		arguments.set(Parameter::retry_ats,
					  array_of(receipts, count, TIMESTAMPTZOID, [&](const Receipt &, bool *) {
						  return TimestampTzGetDatum(*options.run_at);
					  }));
	if (options.errors != nullptr)
		arguments.set(Parameter::errors, sorted(receipts, count, options.errors));
	if (options.results != nullptr)
		arguments.set(Parameter::results, sorted(receipts, count, options.results));
	if (options.progresses != nullptr)
		arguments.set(Parameter::progresses, sorted(receipts, count, options.progresses));
	run(finish_statement(definition, action, true), arguments);
	(void) count_returned(definition, action, options);
}

// The IDs of those rows for which is_wanted(row).
template <typename IsWanted>
static int64 *
ids_of_rows(MemoryContext context, int *count, IsWanted &&is_wanted)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	const SPITupleTable *rows = SPI_tuptable;
	*count = 0;
	auto *ids = allocate<int64>(static_cast<int>(rows->numvals));
	for (uint64 i = 0; i < rows->numvals; i++) {
		bool is_null;
		if (is_wanted(i))
			ids[(*count)++] =
				DatumGetInt64(SPI_getbinval(rows->vals[i], rows->tupdesc, 1, &is_null));
	}
	MemoryContextSwitchTo(old);
	return ids;
}

int64 *
returned_ids(MemoryContext context, int *count)
{
	return ids_of_rows(context, count, [](uint64) { return true; });
}

int64 *
died_ids(MemoryContext context, int *count)
{
	return ids_of_rows(context, count, has_died);
}

} // namespace queue_ext::queue
