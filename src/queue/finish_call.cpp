// finish_call.cpp - see finish_call.hpp.

#include "../postgres.hpp"

#include "finish_call.hpp"

#include "../argument.hpp"
#include "../array.hpp"
#include "../claim/dead_jobs.hpp"
#include "../claim/given_back.hpp"
#include "../claim/recurring.hpp"
#include "../claim/request.hpp"
#include "../definition/open.hpp"
#include "../error.hpp"
#include "../job/remove.hpp"
#include "../result.hpp"
#include "../statement/row_type.hpp"
#include "../wake/written.hpp"
#include "finish_row.hpp"

namespace queue_ext::queue {

using job::Receipt;
using definition::Definition;
using definition::Use;

// The hint if the queue is an attached one.
static constexpr const char *row_hint =
	"Use the function that takes the row, such as queue_complete_row().";

// Makes jobs that were given back known to claims, after the commit.
static void
wake(Definition *definition, Action action, const FinishOptions &options)
{
	// What on_fail and on_extend of an attached queue write, only the row knows.
	const bool is_timed = definition->is_managed;
	if (action == Action::release || action == Action::requeue ||
		(action == Action::fail && !is_timed))
		claim::note_given_back(definition, 0);
	else if (action == Action::fail && !options.is_final)
		claim::note_given_back(definition, earliest_retry(definition, options));
	else if (action == Action::extend && is_timed)
		claim::note_given_back(definition,
							   claim::lease_end(definition, options.call_time, options.lease));
	else if (action == Action::extend &&
			 definition->claim_mode == definition::ClaimMode::transaction)
		wake::note_moved(definition->source);
}

// Only completing has a direct path (job/remove.hpp).
static bool
removes_directly(Definition *definition, Action action)
{
	return action == Action::complete && job::can_remove_directly(definition);
}

// Cancelling and completing remove the job from the table.
static Use
use_for_job(Action action)
{
	return action == Action::complete || action == Action::cancel ? Use::remove : Use::write;
}

bool
finish_and_wake(Definition *definition, Action action, Receipt receipt,
				const FinishOptions &options)
{
	const List *occurrences =
		action == Action::cancel ? claim::find_occurrences(definition, &receipt.id, 1) : NIL;
	Finished finished = Finished::no;
	if (!removes_directly(definition, action))
		finished = finish_one(definition, action, receipt, options);
	else if (job::remove_directly(definition, &receipt, 1, &receipt.id) > 0)
		finished = Finished::yes;
	if (finished == Finished::no)
		return false;
	wake(definition, action, options);
	claim::follow_cancelled(definition, occurrences, &receipt.id, 1);
	if (finished == Finished::died)
		claim::move_failed(definition, &receipt.id, 1, options.call_time);
	return true;
}

Datum
finish_job(FunctionCallInfo fcinfo, Action action, Attempt attempt, const FinishOptions &options)
{
	const text *name = argument::required_text(fcinfo, 0, "queue");
	Receipt receipt{};
	receipt.id = argument::required_int64(fcinfo, 1, "id");
	if (attempt == Attempt::required && PG_ARGISNULL(2))
		error::attempt_missing("attempt");
	receipt.has_attempt = !PG_ARGISNULL(2);
	receipt.attempt = receipt.has_attempt ? PG_GETARG_INT32(2) : 0;
	Definition *definition = open_managed_queue(name, use_for_job(action), row_hint);
	check_options(definition, options);
	PG_RETURN_BOOL(finish_and_wake(definition, action, receipt, options));
}

namespace {

// Receipts in the order of the call.
struct Receipts
{
	Receipt *elements;
	int count;
};

} // namespace

// Reads arguments 1 and 2 of all forms for many jobs: ids, attempts. Raises 22004 for a null array
// or element, 2202E for more than one dimension, 22023 if the lengths differ.
static Receipts
read_receipts(FunctionCallInfo fcinfo, Attempt attempt)
{
	ArrayType *ids = argument::required_array(fcinfo, 1, "ids");
	const bool has_attempts = !PG_ARGISNULL(2);
	if (attempt == Attempt::required && !has_attempts)
		error::attempt_missing("attempts");
	ArrayType *attempts = has_attempts ? argument::required_array(fcinfo, 2, "attempts") : nullptr;

	Datum *id_values;
	bool *id_nulls;
	int count;
	deconstruct_array(ids, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &id_values,
					  &id_nulls, &count);
	Datum *attempt_values = nullptr;
	bool *attempt_nulls = nullptr;
	if (has_attempts) {
		int attempt_count;
		deconstruct_array(attempts, INT4OID, sizeof(int32), true, TYPALIGN_INT, &attempt_values,
						  &attempt_nulls, &attempt_count);
		if (attempt_count != count)
			error::length_mismatch("ids", count, "attempts", attempt_count);
	}

	auto *elements = allocate<Receipt>(count);
	for (int i = 0; i < count; i++) {
		if (id_nulls[i])
			error::null_element("ids");
		const bool is_open = !has_attempts || attempt_nulls[i];
		if (is_open && attempt == Attempt::required)
			error::null_element("attempts");
		elements[i] = {DatumGetInt64(id_values[i]), is_open ? 0 : DatumGetInt32(attempt_values[i]),
					   !is_open, i};
	}
	return {elements, count};
}

static int64 *
ids_of(const Receipts &receipts)
{
	auto *ids = allocate<int64>(receipts.count);
	for (int i = 0; i < receipts.count; i++)
		ids[i] = receipts.elements[i].id;
	return ids;
}

// Raises 22023 unless the array, which may be null, has an element for each receipt.
static void
check_length(const Receipts &receipts, const ArrayType *array, const char *what)
{
	if (array == nullptr)
		return;
	const int length = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	if (length != receipts.count)
		error::length_mismatch("ids", receipts.count, what, length);
}

Datum
finish_jobs(FunctionCallInfo fcinfo, Action action, Attempt attempt, const FinishOptions &options)
{
	ReturnSetInfo *result = result::begin_set(fcinfo);
	const text *name = argument::required_text(fcinfo, 0, "queue");
	const Receipts receipts = read_receipts(fcinfo, attempt);
	check_length(receipts, options.errors, "errors");
	check_length(receipts, options.results, "results");
	check_length(receipts, options.progresses, "progress");
	Definition *definition = open_managed_queue(name, use_for_job(action), row_hint);
	check_options(definition, options);
	if (removes_directly(definition, action)) {
		auto *ids = static_cast<int64 *>(palloc(sizeof(int64) * (receipts.count + 1)));
		sort_receipts(receipts.elements, receipts.count);
		result::put_ids(result, ids,
						job::remove_directly(definition, receipts.elements, receipts.count, ids));
		return static_cast<Datum>(0);
	}
	const List *occurrences =
		action == Action::cancel
			? claim::find_occurrences(definition, ids_of(receipts), receipts.count)
			: NIL;
	const bool may_move = action == Action::fail && claim::has_dead_queue(definition);
	MemoryContext context = CurrentMemoryContext;
	int64 *done = nullptr;
	int done_count = 0;
	statement::with_spi([&] {
		finish_many(definition, action, receipts.elements, receipts.count, options);
		result::put_first_columns(result);
		if (occurrences != NIL)
			done = returned_ids(context, &done_count);
		else if (may_move)
			done = died_ids(context, &done_count);
	});
	wake(definition, action, options);
	claim::follow_cancelled(definition, occurrences, done, done_count);
	if (may_move)
		claim::move_failed(definition, done, done_count, options.call_time);
	return static_cast<Datum>(0);
}

// A release or failure in a lock mode may write nothing, and then asks for SELECT only.
static Use
use_for(Action action)
{
	switch (action) {
		case Action::release:
			return Use::release;
		case Action::fail:
			return Use::fail;
		case Action::complete:
			return Use::remove;
		default:
			return Use::write;
	}
}

bool
finish_and_wake(Definition *definition, Action action, const statement::Row &job,
				const FinishOptions &options, Datum *extended)
{
	const Finished finished = finish_row(definition, action, job, options, extended);
	if (finished == Finished::no)
		return false;
	wake(definition, action, options);
	if (finished == Finished::died && claim::has_dead_queue(definition)) {
		bool is_null;
		const int64 id =
			DatumGetInt64(GetAttributeByName(DatumGetHeapTupleHeader(job.value), "id", &is_null));
		claim::move_failed(definition, &id, is_null ? 0 : 1, options.call_time);
	}
	return true;
}

// Copies the tuple descriptor of the row type before the call waits for the lock on the table: the
// columns may change during the wait.
bool
finish_row(FunctionCallInfo fcinfo, Action action, const FinishOptions &options, Datum *extended)
{
	const text *name = argument::required_text(fcinfo, 0, "queue");
	argument::check_not_null(fcinfo, 1, "job");
	const Oid type = get_fn_expr_argtype(fcinfo->flinfo, 1);
	Definition *definition = nullptr;
	const auto open = [&] {
		definition = open_queue(name, use_for(action));
	};
	TupleDesc columns = nullptr;
	if (OidIsValid(get_typ_typrelid(type)))
		columns = statement::lock_for_rows(type, open);
	else
		open();
	if (type != definition->row_type)
		error::wrong_row_type(definition->name, definition->row_type, type);
	return finish_and_wake(definition, action, {PG_GETARG_DATUM(1), columns}, options, extended);
}

Definition *
open_to_finish(const text *name, Action action)
{
	return open_queue(name, use_for(action));
}

} // namespace queue_ext::queue
