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
using unique::Criteria;
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

// Reads the remaining arguments with the table locked: the default of max_attempts is the queue's.
static void
insert_all(FunctionCallInfo fcinfo, Definition *definition, const Datum *payloads, int count,
		   Outcome *outcomes)
{
	const Arguments arguments = read_send_options(fcinfo, argument_priority, definition);
	const Criteria criteria = read_insert_criteria(fcinfo, definition);
	statement::with_spi(
		[&] { insert_unique(definition, criteria, payloads, count, arguments, outcomes); });
}

// Returns the result's tuple descriptor, made once per backend: looking it up in the catalogs takes
// longer than the locks.
static TupleDesc
outcome_shape()
{
	static TupleDesc shape = nullptr;
	if (shape != nullptr)
		return shape;
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	TupleDesc made = CreateTemplateTupleDesc(2);
	TupleDescInitEntry(made, 1, "id", INT8OID, -1, 0);
	TupleDescInitEntry(made, 2, "inserted", BOOLOID, -1, 0);
	MemoryContextSwitchTo(old);
	shape = BlessTupleDesc(made);
	return shape;
}

// The ID is null if a trigger suppressed the row.
Datum
queue_ext_queue_unique_insert(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_unique_insert()");
	const text *name = argument::required_text(fcinfo, argument_queue, "queue");
	argument::check_not_null(fcinfo, argument_payload, "payload");
	Definition *definition = definition::open_managed_queue(name, Use::insert_unique, for_others);
	const Datum payload = PG_GETARG_DATUM(argument_payload);
	Outcome outcome{};
	insert_all(fcinfo, definition, &payload, 1, &outcome);

	Datum values[] = {Int64GetDatum(outcome.id), BoolGetDatum(outcome.is_inserted)};
	bool nulls[] = {!outcome.has_id, false};
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(outcome_shape(), values, nulls)));
}

Datum
queue_ext_queue_unique_insert_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_unique_insert_many()");
	InitMaterializedSRF(fcinfo, 0);
	auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
	const text *name = argument::required_text(fcinfo, argument_queue, "queue");
	ArrayType *array = argument::required_array(fcinfo, argument_payload, "payloads");
	if (array_contains_nulls(array))
		error::null_element("payloads");
	Definition *definition = definition::open_managed_queue(name, Use::insert_unique, for_others);

	Datum *payloads;
	int count;
	deconstruct_array(array, JSONBOID, -1, false, TYPALIGN_INT, &payloads, nullptr, &count);
	auto *outcomes = static_cast<Outcome *>(palloc0(sizeof(Outcome) * Max(count, 1)));
	insert_all(fcinfo, definition, payloads, count, outcomes);
	for (int i = 0; i < count; i++) {
		Datum values[] = {Int64GetDatum(outcomes[i].id), BoolGetDatum(outcomes[i].is_inserted)};
		bool nulls[] = {!outcomes[i].has_id, false};
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
