// unique_insert.cpp - queue_unique_insert, queue_unique_insert_many: add jobs that do not exist
// yet; and queue_unique_key, the name of their lock.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../definition/open.hpp"
#include "../error.hpp"
#include "../result.hpp"
#include "../unique/job_insert.hpp"
#include "../unique/job_key.hpp"
#include "send_options.hpp"

namespace queue_ext::queue {

using definition::Definition;
using definition::Use;
using statement::Arguments;
using unique::JobChoice;
using unique::Conflict;
using unique::Criteria;
using unique::OnConflict;
using unique::Outcome;

QUEUE_EXT_FUNCTION(queue_ext_queue_unique_insert);
QUEUE_EXT_FUNCTION(queue_ext_queue_unique_insert_many);
QUEUE_EXT_FUNCTION(queue_ext_queue_unique_key);

namespace {

// The numbers of the arguments of both inserts; queue_unique_key has the first four, too.
enum Argument : int {
	argument_queue,
	argument_payload, // or payloads
	argument_unique_by,
	argument_period,
	argument_states,
	argument_priority,
	argument_run_at,
	argument_max_attempts,
	argument_kind,
	argument_time_zone,
	argument_on_conflict,
	argument_max_delay,
	argument_expires_at, // and expires_in
};

} // namespace

// The hint if the queue is an attached one.
constexpr const char *for_others = "Use queue_unique_insert_row() for a table of your own.";

static ArrayType *
optional_array(FunctionCallInfo fcinfo, int n, const char *what)
{
	return PG_ARGISNULL(n) ? nullptr : argument::required_array(fcinfo, n, what);
}

// SQL objects of before have no such argument.
static const char *
optional_zone(FunctionCallInfo fcinfo, int n)
{
	return PG_NARGS() <= n || PG_ARGISNULL(n) ? nullptr : text_to_cstring(PG_GETARG_TEXT_PP(n));
}

// The bucket is that of run_at, or else of the wall clock: the transaction may have begun in an
// earlier one.
static JobChoice
read_choice(FunctionCallInfo fcinfo, int run_at, int time_zone)
{
	JobChoice choice{};
	choice.unique_by = optional_array(fcinfo, argument_unique_by, "unique_by");
	choice.period = argument::optional_interval(fcinfo, argument_period);
	choice.time_zone = optional_zone(fcinfo, time_zone);
	choice.moment = PG_ARGISNULL(run_at) ? GetCurrentTimestamp() : PG_GETARG_TIMESTAMPTZ(run_at);
	return choice;
}

// Raises 0A000 if done jobs count under row security: their rows are gone, so no policy can say who
// may learn of them.
static Criteria
read_insert_criteria(FunctionCallInfo fcinfo, const Definition *definition)
{
	JobChoice choice = read_choice(fcinfo, argument_run_at, argument_time_zone);
	choice.states = optional_array(fcinfo, argument_states, "states");
	const Criteria criteria = read_criteria(choice);
	if (criteria.does_count(unique::State::done) &&
		check_enable_rls(definition->source, InvalidOid, true) == RLS_ENABLED)
		error::done_under_row_security(get_rel_name(definition->source));
	return criteria;
}

static OnConflict
read_rule(const text *name)
{
	const char *rule = text_to_cstring(name);
	if (strcmp(rule, "keep") == 0)
		return OnConflict::keep;
	if (strcmp(rule, "replace") == 0)
		return OnConflict::replace;
	if (strcmp(rule, "postpone") == 0)
		return OnConflict::postpone;
	error::unknown_on_conflict(rule);
}

// What to do with a job that is there. SQL objects of 0.1 cannot say it. A day of max_delay is 24 hours.
// Raises 22004 for a null rule, and for a null run_at where that is what it is about; 22023 for an unknown rule, for
// a negative max_delay, and for one that has no effect.
static Conflict
read_conflict(FunctionCallInfo fcinfo)
{
	if (PG_NARGS() <= argument_on_conflict)
		return {OnConflict::keep, nullptr};
	const OnConflict rule =
		read_rule(argument::required_text(fcinfo, argument_on_conflict, "on_conflict"));
	const Interval *max_delay =
		argument::optional_not_negative(fcinfo, argument_max_delay, "max_delay");
	if (rule != OnConflict::postpone) {
		if (max_delay != nullptr)
			error::max_delay_without_postpone();
		return {rule, nullptr};
	}
	if (PG_ARGISNULL(argument_run_at))
		error::postponed_without_time();
	return {rule, max_delay == nullptr ? nullptr : exact_length(GetCurrentTimestamp(), max_delay)};
}

// Reads the remaining arguments with the table locked: the default of max_attempts is the queue's. Returns
// what was to be done with jobs that were there.
static OnConflict
insert_all(FunctionCallInfo fcinfo, Definition *definition, const Datum *payloads, int count,
		   Outcome *outcomes)
{
	Arguments arguments = read_send_options(fcinfo, argument_priority, definition);
	read_expiry(fcinfo, argument_expires_at, definition, &arguments);
	const Criteria criteria = read_insert_criteria(fcinfo, definition);
	const Conflict conflict = read_conflict(fcinfo);
	if (conflict.rule != OnConflict::keep)
		unique::check_may_change(definition, arguments);
	statement::with_spi([&] {
		insert_unique(definition, criteria, conflict, payloads, count, arguments, outcomes);
	});
	return conflict.rule;
}

// How many columns the result has: SQL objects of 0.1 do not ask for the outcome.
static int
outcome_width(FunctionCallInfo fcinfo)
{
	return PG_NARGS() > argument_on_conflict ? 3 : 2;
}

static const char *
name_of(const Outcome &outcome, OnConflict rule)
{
	if (outcome.is_inserted)
		return "inserted";
	if (!outcome.is_changed)
		return "kept";
	return rule == OnConflict::replace ? "replaced" : "postponed";
}

// Sets the columns of the result. The ID is null if a trigger suppressed the row.
static void
set_columns(const Outcome &outcome, OnConflict rule, Datum *values, bool *nulls)
{
	values[0] = Int64GetDatum(outcome.id);
	values[1] = BoolGetDatum(outcome.is_inserted);
	values[2] = CStringGetTextDatum(name_of(outcome, rule));
	nulls[0] = nulls[2] = !outcome.has_id;
	nulls[1] = false;
}

// Returns the result's tuple descriptor, made once per backend: looking it up in the catalogs takes
// longer than the locks.
static TupleDesc
outcome_shape(int width)
{
	static TupleDesc shapes[2] = {nullptr, nullptr};
	TupleDesc *shape = &shapes[width - 2];
	if (*shape != nullptr)
		return *shape;
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	TupleDesc made = CreateTemplateTupleDesc(width);
	TupleDescInitEntry(made, 1, "id", INT8OID, -1, 0);
	TupleDescInitEntry(made, 2, "inserted", BOOLOID, -1, 0);
	if (width > 2)
		TupleDescInitEntry(made, 3, "outcome", TEXTOID, -1, 0);
	MemoryContextSwitchTo(old);
	*shape = BlessTupleDesc(made);
	return *shape;
}

Datum
queue_ext_queue_unique_insert(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_unique_insert()");
	const text *name = argument::required_text(fcinfo, argument_queue, "queue");
	argument::check_not_null(fcinfo, argument_payload, "payload");
	Definition *definition = definition::open_managed_queue(name, Use::insert_unique, for_others);
	const Datum payload = PG_GETARG_DATUM(argument_payload);
	Outcome outcome{};
	const OnConflict rule = insert_all(fcinfo, definition, &payload, 1, &outcome);

	Datum values[3];
	bool nulls[3];
	set_columns(outcome, rule, values, nulls);
	PG_RETURN_DATUM(
		HeapTupleGetDatum(heap_form_tuple(outcome_shape(outcome_width(fcinfo)), values, nulls)));
}

Datum
queue_ext_queue_unique_insert_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_unique_insert_many()");
	const ReturnSetInfo *result = result::begin_set(fcinfo);
	const text *name = argument::required_text(fcinfo, argument_queue, "queue");
	ArrayType *array = argument::required_array(fcinfo, argument_payload, "payloads");
	if (array_contains_nulls(array))
		error::null_element("payloads");
	Definition *definition = definition::open_managed_queue(name, Use::insert_unique, for_others);

	Datum *payloads;
	int count;
	deconstruct_array(array, JSONBOID, -1, false, TYPALIGN_INT, &payloads, nullptr, &count);
	auto *outcomes = static_cast<Outcome *>(palloc0(sizeof(Outcome) * Max(count, 1)));
	const OnConflict rule = insert_all(fcinfo, definition, payloads, count, outcomes);
	for (int i = 0; i < count; i++) {
		Datum values[3];
		bool nulls[3];
		set_columns(outcomes[i], rule, values, nulls);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return static_cast<Datum>(0);
}

// Computes a name only: needs no privilege on the table, takes no lock on it, and works on a
// standby.
Datum
queue_ext_queue_unique_key(PG_FUNCTION_ARGS)
{
	constexpr int argument_moment = 4;
	constexpr int argument_zone = 5;
	PreventCommandIfParallelMode("queue_unique_key()");
	const text *name = argument::required_text(fcinfo, argument_queue, "queue");
	argument::check_not_null(fcinfo, argument_payload, "payload");
	const Definition *definition = definition::open_managed_queue(name, Use::name, for_others);
	const Criteria criteria = read_criteria(read_choice(fcinfo, argument_moment, argument_zone));
	int length;
	const char *values = values_of(criteria, PG_GETARG_JSONB_P(argument_payload), &length);
	PG_RETURN_TEXT_P(cstring_to_text(lock_string(definition, criteria, values)));
}

} // namespace queue_ext::queue
