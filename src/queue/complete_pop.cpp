// complete_pop.cpp - queue_complete_pop: completes a job and claims the next, in one call.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../claim/claim.hpp"
#include "../compat.hpp"
#include "../definition/open.hpp"
#include "../error.hpp"
#include "../result.hpp"
#include "finish_call.hpp"
#include "pop_call.hpp"

namespace queue_ext::queue {

using claim::Request;
using definition::Definition;
using definition::Use;

QUEUE_EXT_FUNCTION(queue_ext_queue_complete_pop);

// Claims a job and puts its columns behind the first. Leaves all alone if there is none.
static void
pop_into(Definition *definition, const Request &request, TupleDesc columns, Datum *values,
		 bool *nulls)
{
	Tuplestorestate *store = tuplestore_begin_heap(false, false, work_mem);
	if (claim::claim(definition, request, {store, columns}) == 0)
		return;
	TupleTableSlot *slot = MakeSingleTupleTableSlot(columns, &TTSOpsMinimalTuple);
	(void) tuplestore_gettupleslot(store, true, true, slot);
	tuplestore_end(store); // it may have a file
	slot_getallattrs(slot);
	memcpy(&values[1], slot->tts_values, sizeof(Datum) * columns->natts);
	memcpy(&nulls[1], slot->tts_isnull, sizeof(bool) * columns->natts);
}

// Reads arguments 1 and 2. False if both are null: there is nothing to complete yet. Raises 22004 if
// one is.
static bool
read_receipt(FunctionCallInfo fcinfo, job::Receipt *receipt)
{
	if (PG_ARGISNULL(1) && PG_ARGISNULL(2))
		return false;
	receipt->id = argument::required_int64(fcinfo, 1, "done_id");
	receipt->attempt = argument::required_int32(fcinfo, 2, "done_attempt");
	receipt->has_attempt = true;
	return true;
}

// A stale receipt claims nothing: the worker may have lost more than this job.
Datum
queue_ext_queue_complete_pop(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_complete_pop()");
	const text *name = argument::required_text(fcinfo, 0, "queue");
	job::Receipt receipt{};
	const bool has_done = read_receipt(fcinfo, &receipt);
	Request request{};
	request.max_jobs = 1;
	request.lease = argument::optional_positive(fcinfo, 3, "lease");
	request.worker = PG_ARGISNULL(4) ? nullptr : PG_GETARG_TEXT_PP(4);
	request.kinds = argument_kinds(fcinfo, 5);
	FinishOptions options = options_now();
	if (!PG_ARGISNULL(6))
		options.result = PG_GETARG_DATUM(6);
	if (!has_done && options.result != 0)
		error::result_of_no_job();
	TupleDesc row = result::row_type(fcinfo);
	auto *values = static_cast<Datum *>(palloc0(sizeof(Datum) * row->natts));
	auto *nulls = static_cast<bool *>(palloc(sizeof(bool) * row->natts));
	memset(nulls, 1, row->natts);
	Definition *definition =
		definition::open_managed_queue(name, has_done ? Use::remove : Use::claim,
									   "Use queue_complete_row(), and queue_pop_rows().");
	check_kinds(definition, request);
	bool is_good = true;
	if (has_done) {
		check_options(definition, options);
		is_good = finish_and_wake(definition, Action::complete, receipt, options);
		values[0] = BoolGetDatum(is_good);
		nulls[0] = false;
	}
	request.call_time = GetCurrentTimestamp();
	if (is_good && !definition->is_paused)
		pop_into(definition, request, job_columns_of(definition, job_columns(row)), values, nulls);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(row), values, nulls)));
}

} // namespace queue_ext::queue
