// pop_any.cpp - queue_pop_any: claims jobs of several queues by one call.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../array.hpp"
#include "../claim/claim.hpp"
#include "../definition/open.hpp"
#include "../error.hpp"
#include "pop_call.hpp"

namespace queue_ext::queue {

using claim::Request;
using definition::Definition;
using definition::Use;

QUEUE_EXT_FUNCTION(queue_ext_queue_pop_any);

// The most queues of a call (54000), and the largest weight (22023).
constexpr int most_queues = 64;
constexpr int most_weight = 1000000;

namespace {

struct Source
{
	const text *name; // as the caller has it
	Definition *definition;
	double place; // the smallest is the first
};

struct Sources
{
	int count;
	Source all[most_queues];
};

} // namespace

// Raises 22004, 2202E, 22023, 54000.
static void
read_names(FunctionCallInfo fcinfo, Sources *sources)
{
	Datum *names;
	bool *nulls;
	deconstruct_array(argument::required_array(fcinfo, 0, "queues"), TEXTOID, -1, false,
					  TYPALIGN_INT, &names, &nulls, &sources->count);
	if (sources->count == 0 || sources->count > most_queues)
		error::queues_out_of_range(sources->count, most_queues);
	for (int i = 0; i < sources->count; i++) {
		if (nulls[i])
			error::null_element("queues");
		sources->all[i] = {DatumGetTextPP(names[i]), nullptr, static_cast<double>(i)};
	}
}

// Draws the order without putting back, by which the first is a queue of weight w with the probability w / sum: the
// places are exponentially distributed, with the weights as rates (Efraimidis and Spirakis, 2006). Raises 22004, 2202E,
// 22023.
static void
draw_places(FunctionCallInfo fcinfo, int n, Sources *sources)
{
	Datum *weights;
	bool *nulls;
	int count;
	deconstruct_array(argument::required_array(fcinfo, n, "weights"), INT4OID, sizeof(int32), true,
					  TYPALIGN_INT, &weights, &nulls, &count);
	if (count != sources->count)
		error::length_mismatch("queues", sources->count, "weights", count);
	for (int i = 0; i < count; i++) {
		if (nulls[i])
			error::null_element("weights");
		const int32 weight = DatumGetInt32(weights[i]);
		error::check_range("weights", weight, 1, most_weight);
		sources->all[i].place = -log1p(-pg_prng_double(&pg_global_prng_state)) / weight;
	}
}

static int
compare_places(const void *left, const void *right)
{
	const double one = static_cast<const Source *>(left)->place;
	const double other = static_cast<const Source *>(right)->place;
	return one < other ? -1 : one > other;
}

// All of them, in the order of the array, so that one that cannot be used is told by every call. No definition
// changes after that, as their tables are locked.
static void
open_all(Sources *sources, const Request &request)
{
	for (int i = 0; i < sources->count; i++) {
		Source *source = &sources->all[i];
		source->definition = definition::open_managed_queue(
			source->name, Use::claim, "Use queue_pop_rows(), which returns rows of its table.");
		check_kinds(source->definition, request);
	}
}

// Puts the jobs into the result, behind the queue's name.
static void
put_jobs(const ReturnSetInfo *result, const Source &source, Tuplestorestate *jobs,
		 TupleDesc columns)
{
	const int count = result->setDesc->natts;
	auto *values = allocate<Datum>(count);
	auto *nulls = allocate<bool>(count);
	values[0] = PointerGetDatum(source.name);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(columns, &TTSOpsMinimalTuple);
	while (tuplestore_gettupleslot(jobs, true, false, slot)) {
		slot_getallattrs(slot);
		memcpy(&values[1], slot->tts_values, sizeof(Datum) * (count - 1));
		memcpy(&nulls[1], slot->tts_isnull, sizeof(bool) * (count - 1));
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	ExecDropSingleTupleTableSlot(slot);
}

// Claims as many jobs, which have these columns, of the queue as the request has. Returns how many there were.
static int
pop_from(const ReturnSetInfo *result, TupleDesc job, const Source &source, const Request &request)
{
	const TupleDesc columns = job_columns_of(source.definition, job);
	Tuplestorestate *jobs = tuplestore_begin_heap(false, false, work_mem);
	const uint64 claimed = claim::claim(source.definition, request, {jobs, columns});
	if (claimed > 0)
		put_jobs(result, source, jobs, columns);
	tuplestore_end(jobs); // it may have a file
	return static_cast<int>(claimed);
}

Datum
queue_ext_queue_pop_any(PG_FUNCTION_ARGS)
{
	constexpr int kinds_argument = 4;
	constexpr int weights_argument = 5;
	argument::check_may_write("queue_pop_any()");
	InitMaterializedSRF(fcinfo, 0);
	const auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
	Sources sources{};
	read_names(fcinfo, &sources);
	Request request = read_pop(fcinfo, 1);
	request.kinds = argument_kinds(fcinfo, kinds_argument);
	if (!PG_ARGISNULL(weights_argument))
		draw_places(fcinfo, weights_argument, &sources);
	open_all(&sources, request);
	const TupleDesc job = job_columns(result->setDesc);
	qsort(sources.all, sources.count, sizeof(Source), compare_places);
	for (int i = 0; i < sources.count && request.max_jobs > 0; i++) {
		CHECK_FOR_INTERRUPTS();
		request.call_time = GetCurrentTimestamp();
		if (!sources.all[i].definition->is_paused)
			request.max_jobs -= pop_from(result, job, sources.all[i], request);
	}
	return static_cast<Datum>(0);
}

} // namespace queue_ext::queue
