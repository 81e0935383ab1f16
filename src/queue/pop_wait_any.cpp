// pop_wait_any.cpp - queue_pop_wait_any: waits for a job of several queues, and claims it.
//
// A look opens all queues and claims from the first that has a job; a backend that was woken for a job of another one
// says so, and the next is woken in its place (wait/sleep.hpp). What a look has claimed it returns.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../array.hpp"
#include "../claim/claim.hpp"
#include "../compat.hpp"
#include "../error.hpp"
#include "../stats/transaction_counters.hpp"
#include "pop_call.hpp"
#include "procedure.hpp"
#include "sources.hpp"
#include "wait_call.hpp"

namespace queue_ext::queue {

using claim::Request;
using wait::Wait;

QUEUE_EXT_FUNCTION(queue_ext_queue_pop_wait_any);

// Claims a job and copies it, behind the queue's name, into the memory context. Null if there is none.
static HeapTuple
claim_one(const Source &source, const Request &request, MemoryContext result, TupleDesc columns)
{
	const TupleDesc job = job_columns_of(source.definition, job_columns(columns));
	Tuplestorestate *store = tuplestore_begin_heap(false, false, work_mem);
	HeapTuple row = nullptr;
	if (claim::claim(source.definition, request, {store, job}) > 0) {
		TupleTableSlot *slot = MakeSingleTupleTableSlot(job, &TTSOpsMinimalTuple);
		(void) tuplestore_gettupleslot(store, true, false, slot);
		auto *values = allocate<Datum>(columns->natts);
		auto *nulls = allocate<bool>(columns->natts);
		set_row(source, slot, job->natts, values, nulls);
		MemoryContext old = MemoryContextSwitchTo(result);
		row = heap_form_tuple(columns, values, nulls);
		MemoryContextSwitchTo(old);
		ExecDropSingleTupleTableSlot(slot);
	}
	tuplestore_end(store);
	return row;
}

// Looks at one queue after the other, until there is a job. The next one is asked because this one has none, so only the
// last look may rely on what is announced to who waits.
static HeapTuple
claim_first(const Sources &sources, const Wait *wait, Request *request, MemoryContext result,
			TupleDesc columns)
{
	int open = 0; // queues that are not paused
	for (int i = 0; i < sources.count; i++)
		open += !sources.all[i].definition->is_paused;
	for (int i = 0; i < sources.count; i++) {
		const Source &source = sources.all[i];
		if (source.definition->is_paused)
			continue;
		CHECK_FOR_INTERRUPTS();
		request->call_time = GetCurrentTimestamp();
		request->is_chosen = wait::chosen(source.number);
		request->must_be_empty = --open > 0;
		HeapTuple row = claim_one(source, *request, result, columns);
		after_look(wait, source.number, row != nullptr);
		if (row != nullptr)
			return row;
	}
	return nullptr;
}

static HeapTuple
look(const Sources &named, Wait *wait, Request *request, MemoryContext result, TupleDesc columns)
{
	request->call_time = GetCurrentTimestamp();
	request->has_slept = wait->has_slept;
	const Sources sources = open_sources(named, *request);
	// The client may have gone during the sleep, or while another transaction had a table locked.
	if (wait->has_slept)
		compat::check_client();
	CHECK_FOR_INTERRUPTS();
	begin_round(wait, sources.count);
	for (int i = 0; i < sources.count; i++) {
		const Source &source = sources.all[i];
		wait::before_look(source.number, source.definition->is_paused ? nullptr : source.definition,
						  *request);
	}
	HeapTuple row = claim_first(sources, wait, request, result, columns);
	end_round(wait, row != nullptr);
	if (row == nullptr && !wait->has_slept)
		for (int i = 0; i < sources.count; i++)
			stats::count_at_once(sources.all[i].definition, stats::Counter::waits);
	return row;
}

Datum
queue_ext_queue_pop_wait_any(PG_FUNCTION_ARGS)
{
	constexpr int kinds_argument = 16;
	constexpr int weights_argument = 17;
	argument::check_may_write("queue_pop_wait_any()");
	Sources sources{};
	read_sources(fcinfo, 0, weights_argument, &sources);
	Wait wait = read_wait(fcinfo, true);
	Request request = read_pop_wait(fcinfo, kinds_argument);
	if (!can_commit(fcinfo))
		error::cannot_commit("queue_pop_wait_any()",
							 "Call it outside a transaction block, or call queue_pop_any() there.");
	return pop_or_wait(fcinfo, &wait,
					   [&](MemoryContext round, MemoryContext result, TupleDesc columns) {
						   MemoryContext old = MemoryContextSwitchTo(round);
						   HeapTuple row = look(sources, &wait, &request, result, columns);
						   MemoryContextSwitchTo(old);
						   return row;
					   });
}

} // namespace queue_ext::queue
