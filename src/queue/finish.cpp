// finish.cpp - see finish.hpp.

#include "../postgres.hpp"

#include "finish.hpp"

#include "../array.hpp"
#include "../claim/compiled_claim.hpp"
#include "../definition/archiving.hpp"
#include "../definition/compiled.hpp"
#include "../definition/fragment.hpp"
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

namespace {

// The rows that an action may touch.
enum class Fence {
	held, // the receipt's claim still holds the job
	any,  // the job exists, under the attempt of the receipt if that has one
	dead, // as any, and the job is dead
};

// The statements of an action, and which rows they may touch.
struct Rule
{
	CallStatement one;
	CallStatement many;
	Fence fence;
	const char *final_state; // not null: the job leaves the queue in this state
};

} // namespace

static Rule
rule_of(Action action)
{
	switch (action) {
		case Action::complete:
			return {CallStatement::complete, CallStatement::complete_many, Fence::held,
					"completed"};
		case Action::fail:
			return {CallStatement::fail, CallStatement::fail_many, Fence::held, nullptr};
		case Action::release:
			return {CallStatement::release, CallStatement::release_many, Fence::held, nullptr};
		case Action::extend:
			return {CallStatement::extend, CallStatement::extend_many, Fence::held, nullptr};
		case Action::cancel:
			return {CallStatement::cancel, CallStatement::cancel_many, Fence::any, "cancelled"};
		case Action::requeue:
			return {CallStatement::requeue, CallStatement::requeue_many, Fence::dead, nullptr};
	}
	pg_unreachable();
}

// Whether a requeue clears the expiry. Where the queue does not say what becomes of expired jobs, no right on the column is
// needed; but it could say so later, of a job that has been asked for once more meanwhile.
static bool
clears_expiry(const Definition *definition)
{
	const Oid source = definition->source;
	return definition::has_expires_at(source) &&
		   (definition->on_expire != definition::OnExpire::none ||
			row::may_write(source, get_attnum(source, "expires_at")));
}

// The job is ready and has the queue's number of attempts left; the backoff begins anew. attempt itself never falls. Who
// asks for a job once more wants it done, late or not: one that has expired would only end the same way again.
const char *
on_requeue(const Definition *definition)
{
	return psprintf("run_at = %s, leased_until = null, leased_by = null, dead_at = null,"
					" max_attempts = t.attempt operator(pg_catalog.+) %d%s%s",
					placeholder(Parameter::call_time), definition->max_attempts,
					definition::counts_releases(definition->source) ? ", released = t.attempt" : "",
					clears_expiry(definition) ? ", expires_at = null" : "");
}

// Returns what the action writes, or null if it deletes the row.
static const char *
assignments_of(Definition *definition, Action action)
{
	switch (action) {
		case Action::complete:
			return definition::compiled_of(definition).on_complete;
		case Action::fail:
			return definition::compiled_of(definition).on_fail;
		case Action::release:
			return definition::compiled_of(definition).on_release;
		case Action::extend:
			return definition::compiled_of(definition).on_extend;
		case Action::cancel:
			return nullptr;
		case Action::requeue:
			return on_requeue(definition);
	}
	pg_unreachable();
}

namespace {

// How a statement refers to its receipts.
struct Source
{
	const char *tables; // null: one receipt, in scalar parameters
	const char *id;
	const char *attempt;
	const char *result;
};

} // namespace

static Source
one_receipt()
{
	return {nullptr, placeholder(Parameter::id), placeholder(Parameter::attempt),
			placeholder(Parameter::result)};
}

// The rows come in the order of the arrays, which finish_many() has sorted.
static Source
many_receipts()
{
	return {psprintf("rows from (pg_catalog.unnest(%s), pg_catalog.unnest(%s),"
					 " pg_catalog.unnest(%s), pg_catalog.unnest(%s),"
					 " pg_catalog.unnest(%s), pg_catalog.unnest(%s))"
					 " as r(receipt_id, receipt_attempt, receipt_error, receipt_retry_at,"
					 " receipt_result, receipt_progress)",
					 placeholder(Parameter::ids), placeholder(Parameter::attempts),
					 placeholder(Parameter::errors), placeholder(Parameter::retry_ats),
					 placeholder(Parameter::results), placeholder(Parameter::progresses)),
			"r.receipt_id", "r.receipt_attempt", "r.receipt_result"};
}

// The fence stands in the WHERE clause of the statement that writes, so that a row that changes
// meanwhile is checked again in its newest version.
static const char *
fence_text(Fence fence, const Source &source)
{
	// Not "=", which a merge join could use: for that the planner would consider a scan of the
	// whole primary key, and choose it where VACUUM has recorded that the table is empty.
	const char *same_id = psprintf("t.id operator(pg_catalog.>=) %s"
								   " and t.id operator(pg_catalog.<=) %s",
								   source.id, source.id);
	const char *held = psprintf("%s"
								" and t.attempt operator(pg_catalog.=) %s"
								" and t.leased_until is not null",
								same_id, source.attempt);
	const char *any = psprintf("%s"
							   " and (%s is null or t.attempt operator(pg_catalog.=) %s)",
							   same_id, source.attempt, source.attempt);
	switch (fence) {
		case Fence::held:
			return held;
		case Fence::any:
			return any;
		case Fence::dead:
			// Not "dead_at <=", which the index of dead jobs could serve, as on id above.
			return psprintf("%s and coalesce(t.dead_at, 'infinity') operator(pg_catalog.<=) %s",
							any, placeholder(Parameter::call_time));
	}
	pg_unreachable();
}

const char *
died_text()
{
	return psprintf("(t.attempt operator(pg_catalog.>=) t.max_attempts or not %s)",
					placeholder(Parameter::retry));
}

// The ID; of a job that has failed also whether it is dead, by the columns that on_fail reads, for a
// caller with rights on no more.
static const char *
returned(Action action, bool is_timed)
{
	if (action != Action::fail)
		return "t.id";
	return psprintf("t.id, %s%s", died_text(), is_timed ? ", t.claimed_at" : "");
}

// For many receipts, error, retry_at and new_progress are columns of the receipts instead of parameters.
static const char *
update_text(const Definition *definition, const char *assignments, const Source &source,
			const char *fence, const char *returned)
{
	if (source.tables == nullptr)
		return psprintf("update %s as t set %s where %s returning %s", definition->source_name,
						assignments, fence, returned);
	return psprintf("update %s as t set %s from %s where %s returning %s", definition->source_name,
					bind_rows(assignments, definition::FragmentKind::assignments,
							  {"r.receipt_error", "r.receipt_retry_at", "r.receipt_progress"}),
					source.tables, fence, returned);
}

static const char *
delete_text(const Definition *definition, const char *tables, const char *fence,
			const char *returning)
{
	return psprintf("delete from %s as t%s%s where %s returning %s", definition->source_name,
					tables == nullptr ? "" : " using ", tables == nullptr ? "" : tables, fence,
					returning);
}

// A name that no column of the queue's table should have.
static constexpr const char *result_of_finished = "queue_ext_result";

// Deletes and archives in one statement, so one fence holds for both. Raises 55000 if there is no archive.
static const char *
archive_text(const Definition *definition, const Removal &removal)
{
	const bool has_result =
		removal.result != nullptr && definition::keeps_results(definition->archive);
	const char *deleted =
		has_result ? psprintf("t.*, %s as %s", removal.result, result_of_finished) : "t.*";
	return psprintf("with finished as (%s) %s returning id%s%s",
					delete_text(definition, removal.tables, removal.fence, deleted),
					archiving_text(definition, "finished", removal.final_state,
								   has_result ? result_of_finished : nullptr),
					removal.is_timed ? ", claimed_at" : "", removal.told);
}

const char *
removal_text(const Definition *definition, const Removal &removal)
{
	if (definition->is_archived)
		return archive_text(definition, removal);
	if (!definition->is_managed)
		return delete_text(definition, removal.tables, removal.fence, "1");
	return delete_text(
		definition, removal.tables, removal.fence,
		psprintf("t.id%s%s", removal.is_timed ? ", t.claimed_at" : "", removal.told));
}

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

// tells_more: the statement returns more than what it is asked for, for the statistics.
static const char *
text_of(Definition *definition, Action action, const Source &source, bool tells_more)
{
	const Rule rule = rule_of(action);
	const char *fence = fence_text(rule.fence, source);
	const char *assignments = assignments_of(definition, action);
	if (assignments != nullptr)
		return update_text(definition, assignments, source, fence, returned(action, tells_more));
	if (action == Action::cancel)
		return removal_text(definition, {source.tables, fence, rule.final_state, nullptr, false,
										 tells_more ? states_text(definition) : ""});
	// Who may not read when the job would have died takes any late one for dead.
	const char *death = tells_more ? "t.dead_at" : "t.leased_until";
	const bool has_columns = claim::compiled_claim_of(definition)->managed.has_columns;
	return removal_text(definition, {source.tables, fence, rule.final_state, source.result,
									 tells_more, has_columns ? lease_text(definition, death) : ""});
}

// Whether the statement may return when the job was claimed, and when it would have died: the tables have
// the columns, and the caller, who may have rights on some only, may read them.
static bool
is_timed(Definition *definition, Action action)
{
	if ((action != Action::complete && action != Action::fail) || !stats::is_on())
		return false;
	const claim::CompiledClaim *claim = claim::compiled_claim_of(definition);
	const AttrNumber columns[] = {claim->claimed_at, claim->managed.dead_at};
	if (claim->claimed_at == InvalidAttrNumber || claim->managed.dead_at == InvalidAttrNumber ||
		!row::has_right_on(definition->source, ACL_SELECT, columns,
						   action == Action::fail ? 1 : lengthof(columns)))
		return false;
	if (action == Action::fail || !definition->is_archived)
		return true;
	if (definition->archive_name == nullptr || !definition::has_claimed_at(definition->archive))
		return false;
	const AttrNumber archived = get_attnum(definition->archive, "claimed_at");
	return row::has_right_on(definition->archive, ACL_SELECT, &archived, 1);
}

static bool
tells_more(Definition *definition, Action action)
{
	return action == Action::cancel ? may_tell_states(definition) : is_timed(definition, action);
}

static CallStatement
telling_more(CallStatement which)
{
	switch (which) {
		case CallStatement::complete:
			return CallStatement::complete_timed;
		case CallStatement::complete_many:
			return CallStatement::complete_many_timed;
		case CallStatement::fail:
			return CallStatement::fail_timed;
		case CallStatement::fail_many:
			return CallStatement::fail_many_timed;
		case CallStatement::cancel:
			return CallStatement::cancel_told;
		case CallStatement::cancel_many:
			return CallStatement::cancel_many_told;
		default:
			return which;
	}
}

static CallStatement
clearing_expiry(CallStatement which)
{
	return which == CallStatement::requeue ? CallStatement::requeue_expiry
										   : CallStatement::requeue_many_expiry;
}

// The statement is kept beside the definition and so goes with it. It differs by the rights of the caller.
static const statement::Statement &
statement_for(Definition *definition, Action action, bool is_many)
{
	const Rule rule = rule_of(action);
	CallStatement which = is_many ? rule.many : rule.one;
	const bool is_more = tells_more(definition, action);
	if (is_more)
		which = telling_more(which);
	if (action == Action::requeue && clears_expiry(definition))
		which = clearing_expiry(which);
	return prepared_of(definition, kept_for_calls(definition, which), [&] {
		return text_of(definition, action, is_many ? many_receipts() : one_receipt(), is_more);
	});
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

// What stands in the way of a scan of the whole table here is said at fence_text().
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
	if (rule_of(action).final_state == nullptr || SPI_tuptable->numvals == 0)
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
		const bool is_done = run(statement_for(definition, action, false), arguments) > 0;
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
	run(statement_for(definition, action, true), arguments);
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
