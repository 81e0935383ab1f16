// pop_any.cpp - queue_pop_any: claims jobs of several queues by one call.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../array.hpp"
#include "../claim/claim.hpp"
#include "../result.hpp"
#include "pop_call.hpp"
#include "sources.hpp"

namespace queue_ext::queue {

using claim::Request;

QUEUE_EXT_FUNCTION(queue_ext_queue_pop_any);

// Puts the jobs into the result, behind the queue's name.
static void
put_jobs(const ReturnSetInfo *result, const Source &source, Tuplestorestate *jobs,
		 TupleDesc columns)
{
	const int count = result->setDesc->natts;
	auto *values = allocate<Datum>(count);
	auto *nulls = allocate<bool>(count);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(columns, &TTSOpsMinimalTuple);
	while (tuplestore_gettupleslot(jobs, true, false, slot)) {
		set_row(source, slot, count - 1, values, nulls);
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
	const ReturnSetInfo *result = result::begin_set(fcinfo);
	Sources named{};
	read_sources(fcinfo, 0, weights_argument, &named);
	Request request = read_pop(fcinfo, 1);
	request.kinds = argument_kinds(fcinfo, kinds_argument);
	const Sources sources = open_sources(named, request);
	const TupleDesc job = job_columns(result->setDesc);
	for (int i = 0; i < sources.count && request.max_jobs > 0; i++) {
		CHECK_FOR_INTERRUPTS();
		request.call_time = GetCurrentTimestamp();
		if (!sources.all[i].definition->is_paused)
			request.max_jobs -= pop_from(result, job, sources.all[i], request);
	}
	return static_cast<Datum>(0);
}

} // namespace queue_ext::queue
