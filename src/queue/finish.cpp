// finish.cpp - see finish.hpp.

#include "../postgres.hpp"

#include "finish.hpp"

#include "../claim/compiled_claim.hpp"
#include "../definition/compiled.hpp"
#include "../definition/fragment.hpp"
#include "../definition/shape.hpp"
#include "../error.hpp"
#include "../row/rights.hpp"
#include "../stats/tally.hpp"
#include "backoff.hpp"

namespace queue_ext::queue {

using claim::Receipt;
using definition::Definition;
using definition::Prepared;
using statement::Arguments;
using statement::Parameter;

namespace {

// The rows that an action may touch.
enum class Fence {
	held, // the receipt's claim still holds the job
	any,  // the job exists, under the attempt of the receipt if that has one
	dead, // the same, and the job is dead
};

// The statements of an action, and which rows they may touch.
struct Rule
{
	Prepared one;
	Prepared many;
	Fence fence;
	const char *final_state; // not null: the job leaves the queue in this state
};

} // namespace

static Rule
rule_of(Action action)
{
	switch (action) {
		case Action::complete:
			return {Prepared::complete, Prepared::complete_many, Fence::held, "completed"};
		case Action::fail:
			return {Prepared::fail, Prepared::fail_many, Fence::held, nullptr};
		case Action::release:
			return {Prepared::release, Prepared::release_many, Fence::held, nullptr};
		case Action::extend:
			return {Prepared::extend, Prepared::extend_many, Fence::held, nullptr};
		case Action::cancel:
			return {Prepared::cancel, Prepared::cancel_many, Fence::any, "cancelled"};
		case Action::requeue:
			return {Prepared::requeue, Prepared::requeue_many, Fence::dead, nullptr};
	}
	pg_unreachable();
}

// Returns what queue_requeue writes: the job is ready and has the queue's number of attempts left.
// attempt itself never falls.
static const char *
on_requeue(const Definition *definition)
{
	return psprintf("run_at = %s, leased_until = null, leased_by = null, dead_at = null,"
					" max_attempts = t.attempt operator(pg_catalog.+) %d",
					placeholder(Parameter::call_time), definition->max_attempts);
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
};

} // namespace

static Source
one_receipt()
{
	return {nullptr, placeholder(Parameter::id), placeholder(Parameter::attempt)};
}

// The rows come in the order of the arrays, which finish_many() has sorted.
static Source
many_receipts()
{
	return {psprintf("rows from (pg_catalog.unnest(%s), pg_catalog.unnest(%s),"
					 " pg_catalog.unnest(%s), pg_catalog.unnest(%s))"
					 " as r(receipt_id, receipt_attempt, receipt_error, receipt_retry_at)",
					 placeholder(Parameter::ids), placeholder(Parameter::attempts),
					 placeholder(Parameter::errors), placeholder(Parameter::retry_ats)),
			"r.receipt_id", "r.receipt_attempt"};
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

// The ID; of a job that has failed also whether it is dead, by the columns that on_fail reads, for a
// caller with rights on no more.
static const char *
returned(Action action, bool is_timed)
{
	if (action != Action::fail)
		return "t.id";
	return is_timed ? "t.id, t.attempt operator(pg_catalog.>=) t.max_attempts, t.claimed_at"
					: "t.id, t.attempt operator(pg_catalog.>=) t.max_attempts";
}

// For many receipts, error and retry_at are columns of the receipts instead of parameters.
static const char *
update_text(const Definition *definition, const char *assignments, const Source &source,
			const char *fence, const char *returned)
{
	if (source.tables == nullptr)
		return psprintf("update %s as t set %s where %s returning %s", definition->source_name,
						assignments, fence, returned);
	return psprintf("update %s as t set %s from %s where %s returning %s", definition->source_name,
					bind_rows(assignments, definition::FragmentKind::assignments,
							  {"r.receipt_error", "r.receipt_retry_at"}),
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

// Deletes and archives in one statement, so one fence holds for both. A change of either table makes
// the definition, and so this text, invalid. Raises 55000 if there is no archive.
static const char *
archive_text(const Definition *definition, const char *tables, const char *fence,
			 const char *final_state, bool is_timed)
{
	if (definition->archive_name == nullptr)
		error::archive_missing(definition->name, definition->source_name);
	const char *columns = archived_columns(
		Min(definition::layout_of(definition->source), definition::layout_of(definition->archive)));
	return psprintf("with finished as (%s) insert into %s (%s, state, finished_at)"
					" select %s, '%s', %s from finished returning id%s",
					delete_text(definition, tables, fence, "t.*"), definition->archive_name,
					columns, columns, final_state, placeholder(Parameter::call_time),
					is_timed ? ", claimed_at" : "");
}

const char *
removal_text(const Definition *definition, const char *tables, const char *fence,
			 const char *final_state, bool is_timed)
{
	if (definition->is_archived)
		return archive_text(definition, tables, fence, final_state, is_timed);
	const char *returning = is_timed ? "t.id, t.claimed_at" : "t.id";
	return delete_text(definition, tables, fence, definition->is_managed ? returning : "1");
}

static const char *
text_of(Definition *definition, Action action, const Source &source, bool is_timed)
{
	const Rule rule = rule_of(action);
	const char *fence = fence_text(rule.fence, source);
	const char *assignments = assignments_of(definition, action);
	if (assignments != nullptr)
		return update_text(definition, assignments, source, fence, returned(action, is_timed));
	return removal_text(definition, source.tables, fence, rule.final_state, is_timed);
}

// Whether the statement may return when the job was claimed: the tables have the column, and the
// caller, who may have rights on some columns only, may read it.
static bool
is_timed(Definition *definition, Action action)
{
	if ((action != Action::complete && action != Action::fail) || !stats::is_on())
		return false;
	const AttrNumber number = claim::compiled_claim_of(definition)->claimed_at;
	if (number == InvalidAttrNumber ||
		!row::has_right_on(definition->source, ACL_SELECT, &number, 1))
		return false;
	if (action == Action::fail || !definition->is_archived)
		return true;
	if (definition->archive_name == nullptr ||
		definition::layout_of(definition->archive) != definition::Layout::second)
		return false;
	const AttrNumber archived = get_attnum(definition->archive, "claimed_at");
	return row::has_right_on(definition->archive, ACL_SELECT, &archived, 1);
}

static Prepared
timed(Prepared which)
{
	switch (which) {
		case Prepared::complete:
			return Prepared::complete_timed;
		case Prepared::complete_many:
			return Prepared::complete_many_timed;
		case Prepared::fail:
			return Prepared::fail_timed;
		case Prepared::fail_many:
			return Prepared::fail_many_timed;
		default:
			return which;
	}
}

// The statement is kept in the definition and so goes with it.
static const statement::Statement &
statement_for(Definition *definition, Action action, bool is_many)
{
	const Rule rule = rule_of(action);
	const Prepared which = is_many ? rule.many : rule.one;
	const bool returns_time = is_timed(definition, action);
	return prepared_of(definition, returns_time ? timed(which) : which, [&] {
		return text_of(definition, action, is_many ? many_receipts() : one_receipt(), returns_time);
	});
}

// Converts an interval to microseconds, with months of 30 days and days of 24 hours, as PostgreSQL
// compares intervals. The result is capped.
static int64
to_microseconds(const Interval &interval)
{
	const double microseconds =
		static_cast<double>(interval.time) +
		(static_cast<double>(interval.month) * DAYS_PER_MONTH + interval.day) * USECS_PER_DAY;
	constexpr double most = 1e17; // some 3,000 years
	return static_cast<int64>(Min(microseconds, most));
}

// Days and months are those of the TimeZone of the session. Raises 22008.
static TimestampTz
add(TimestampTz moment, const Interval *interval)
{
	return DatumGetTimestampTz(DirectFunctionCall2(
		timestamptz_pl_interval, TimestampTzGetDatum(moment), IntervalPGetDatum(interval)));
}

TimestampTz
retry_time(const Definition *definition, const FinishOptions &options, int32 attempt)
{
	if (options.retry_in != nullptr)
		return add(options.call_time, options.retry_in);
	return options.call_time + backoff(to_microseconds(definition->backoff_base),
									   to_microseconds(definition->backoff_cap), attempt,
									   pg_prng_double(&pg_global_prng_state));
}

TimestampTz
earliest_retry(const Definition *definition, const FinishOptions &options)
{
	if (options.retry_in != nullptr)
		return add(options.call_time, options.retry_in);
	const int64 least =
		Min(to_microseconds(definition->backoff_base), to_microseconds(definition->backoff_cap));
	return options.call_time + least / 2; // what jitter leaves
}

TimestampTz
lease_end(const Definition *definition, const FinishOptions &options)
{
	return add(options.call_time, lease_of(definition, options.lease));
}

Arguments
common_arguments(const Definition *definition, const FinishOptions &options)
{
	Arguments arguments(options.call_time);
	arguments.set(Parameter::lease, IntervalPGetDatum(lease_of(definition, options.lease)));
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
			stats::Tally *tally = number == 0 ? nullptr : stats::tally_of(definition);
			if (tally != nullptr)
				tally->requeued += number;
			return;
		}
		case Action::extend:
			return;
	}
}

void
count_run(Definition *definition, TimestampTz claimed_at, const FinishOptions &options)
{
	stats::Tally *tally = stats::tally_of(definition);
	if (tally != nullptr)
		stats::add_duration(&tally->counts.running, options.call_time - claimed_at);
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

// Counts the jobs in SPI_tuptable.
static void
count_returned(Definition *definition, Action action, const FinishOptions &options)
{
	count_runs(definition, options);
	int64 dead = 0;
	for (uint64 i = 0; action == Action::fail && i < SPI_tuptable->numvals; i++) {
		bool is_null;
		const Datum is_dead =
			SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2, &is_null);
		dead += !is_null && DatumGetBool(is_dead);
	}
	count_finished(definition, action, static_cast<int64>(SPI_tuptable->numvals), dead);
}

bool
finish_one(Definition *definition, Action action, const Receipt &receipt,
		   const FinishOptions &options)
{
	Arguments arguments = common_arguments(definition, options);
	arguments.set(Parameter::id, Int64GetDatum(receipt.id));
	if (receipt.has_attempt)
		arguments.set(Parameter::attempt, Int32GetDatum(receipt.attempt));
	if (action == Action::fail)
		arguments.set(Parameter::retry_at,
					  TimestampTzGetDatum(retry_time(definition, options, receipt.attempt)));
	if (options.run_at != nullptr)
		arguments.set(Parameter::retry_at, TimestampTzGetDatum(*options.run_at));
	if (options.error != nullptr)
		arguments.set(Parameter::error, PointerGetDatum(options.error));

	bool is_done = false;
	statement::with_spi([&] {
		is_done = run(statement_for(definition, action, false), arguments) > 0;
		count_returned(definition, action, options);
	});
	return is_done;
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

// Puts the errors, which are in the caller's order, into the order of the sorted receipts.
static Datum
sorted_errors(const Receipt *receipts, int count, ArrayType *errors)
{
	Datum *values;
	bool *nulls;
	int length;
	deconstruct_array(errors, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &length);
	return array_of(receipts, count, TEXTOID, [&](const Receipt &receipt, bool *is_null) {
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
	arguments.set(Parameter::ids, array_of(receipts, count, INT8OID, [](const Receipt &r, bool *) {
					  return Int64GetDatum(r.id);
				  }));
	arguments.set(Parameter::attempts,
				  array_of(receipts, count, INT4OID, [](const Receipt &r, bool *is_null) {
					  *is_null = !r.has_attempt;
					  return Int32GetDatum(r.attempt);
				  }));
	if (action == Action::fail)
		arguments.set(Parameter::retry_ats,
					  array_of(receipts, count, TIMESTAMPTZOID, [&](const Receipt &r, bool *) {
						  return TimestampTzGetDatum(retry_time(definition, options, r.attempt));
					  }));
	if (options.run_at != nullptr)
		arguments.set(Parameter::retry_ats,
					  array_of(receipts, count, TIMESTAMPTZOID, [&](const Receipt &, bool *) {
						  return TimestampTzGetDatum(*options.run_at);
					  }));
	if (options.errors != nullptr)
		arguments.set(Parameter::errors, sorted_errors(receipts, count, options.errors));
	run(statement_for(definition, action, true), arguments);
	count_returned(definition, action, options);
}

} // namespace queue_ext::queue
