// finish_functions.cpp - the entry points of finish.hpp: queue_complete and its
// like, for one job and for many.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../claim/remove.hpp"
#include "../claim/wake.hpp"
#include "../definition/open.hpp"
#include "../error.hpp"
#include "../result.hpp"
#include "finish.hpp"

namespace queue_ext::queue {

using claim::Receipt;
using definition::Definition;

QUEUE_EXT_FUNCTION(queue_ext_queue_complete);
QUEUE_EXT_FUNCTION(queue_ext_queue_complete_many);
QUEUE_EXT_FUNCTION(queue_ext_queue_fail);
QUEUE_EXT_FUNCTION(queue_ext_queue_fail_many);
QUEUE_EXT_FUNCTION(queue_ext_queue_release);
QUEUE_EXT_FUNCTION(queue_ext_queue_release_many);
QUEUE_EXT_FUNCTION(queue_ext_queue_extend);
QUEUE_EXT_FUNCTION(queue_ext_queue_extend_many);
QUEUE_EXT_FUNCTION(queue_ext_queue_cancel);
QUEUE_EXT_FUNCTION(queue_ext_queue_cancel_many);
QUEUE_EXT_FUNCTION(queue_ext_queue_requeue);
QUEUE_EXT_FUNCTION(queue_ext_queue_requeue_many);

static constexpr const char *row_hint =
	"Use the function that takes the row, such as queue_complete_row().";

// Whether a receipt may leave the attempt open.
enum class Attempt { required, optional };

// Lets claims know of jobs that are given back, when that has been committed.
static void
wake(Definition *definition, Action action, const FinishOptions &options)
{
	if (action == Action::release || action == Action::requeue)
		claim::note_given_back(definition, 0);
	else if (action == Action::fail)
		claim::note_given_back(definition, earliest_retry(definition, options));
	else if (action == Action::extend)
		claim::note_given_back(definition, lease_end(definition, options));
}

static bool
removes_directly(Definition *definition, Action action)
{
	return action == Action::complete && claim::can_remove_directly(definition);
}

// Arguments 0 to 2 of every form for one job: queue, id, attempt.
static Datum
one(FunctionCallInfo fcinfo, Action action, Attempt attempt, const FinishOptions &options)
{
	const text *name = argument::required_text(fcinfo, 0, "queue");
	Receipt receipt{};
	receipt.id = argument::required_int64(fcinfo, 1, "id");
	if (attempt == Attempt::required)
		argument::check_not_null(fcinfo, 2, "attempt");
	receipt.has_attempt = !PG_ARGISNULL(2);
	receipt.attempt = receipt.has_attempt ? PG_GETARG_INT32(2) : 0;
	Definition *definition = open_managed_queue(name, definition::Use::write, row_hint);
	const bool is_done = removes_directly(definition, action)
							 ? claim::remove_directly(definition, &receipt, 1, &receipt.id) > 0
							 : finish_one(definition, action, receipt, options);
	if (is_done)
		wake(definition, action, options);
	PG_RETURN_BOOL(is_done);
}

struct Receipts
{
	Receipt *elements;
	int count;
};

// Arguments 1 and 2 of every form for many jobs: ids, attempts.
static Receipts
read_receipts(FunctionCallInfo fcinfo, Attempt attempt)
{
	ArrayType *ids = argument::required_array(fcinfo, 1, "ids");
	const bool has_attempts = attempt == Attempt::required || !PG_ARGISNULL(2);
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

	auto *elements = static_cast<Receipt *>(palloc0(sizeof(Receipt) * count));
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

static Datum
many(FunctionCallInfo fcinfo, Action action, Attempt attempt, const FinishOptions &options)
{
	ReturnSetInfo *result = result::begin_scalar_set(fcinfo);
	const text *name = argument::required_text(fcinfo, 0, "queue");
	const Receipts receipts = read_receipts(fcinfo, attempt);
	if (options.errors != nullptr) {
		const int errors = ArrayGetNItems(ARR_NDIM(options.errors), ARR_DIMS(options.errors));
		if (errors != receipts.count)
			error::length_mismatch("ids", receipts.count, "errors", errors);
	}
	Definition *definition = open_managed_queue(name, definition::Use::write, row_hint);
	if (removes_directly(definition, action)) {
		auto *ids = static_cast<int64 *>(palloc(sizeof(int64) * (receipts.count + 1)));
		sort_receipts(receipts.elements, receipts.count);
		result::put_ids(result, ids,
						claim::remove_directly(definition, receipts.elements, receipts.count, ids));
		return static_cast<Datum>(0);
	}
	statement::with_spi([&] {
		finish_many(definition, action, receipts.elements, receipts.count, options);
		result::put_first_columns(result);
	});
	wake(definition, action, options);
	return static_cast<Datum>(0);
}

Datum
queue_ext_queue_complete(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_complete()");
	return one(fcinfo, Action::complete, Attempt::required, options_now());
}

Datum
queue_ext_queue_complete_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_complete_many()");
	return many(fcinfo, Action::complete, Attempt::required, options_now());
}

Datum
queue_ext_queue_fail(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_fail()");
	FinishOptions options = options_now();
	options.error = PG_ARGISNULL(3) ? nullptr : PG_GETARG_TEXT_PP(3);
	options.retry_in = argument::optional_not_negative(fcinfo, 4, "retry_in");
	return one(fcinfo, Action::fail, Attempt::required, options);
}

Datum
queue_ext_queue_fail_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_fail_many()");
	FinishOptions options = options_now();
	options.errors = PG_ARGISNULL(3) ? nullptr : argument::required_array(fcinfo, 3, "errors");
	options.retry_in = argument::optional_not_negative(fcinfo, 4, "retry_in");
	return many(fcinfo, Action::fail, Attempt::required, options);
}

// Argument 3 of the release functions.
template <typename Body>
static Datum
with_run_at(FunctionCallInfo fcinfo, Body &&body)
{
	FinishOptions options = options_now();
	const TimestampTz run_at = PG_ARGISNULL(3) ? 0 : PG_GETARG_TIMESTAMPTZ(3);
	options.run_at = PG_ARGISNULL(3) ? nullptr : &run_at;
	return body(options);
}

Datum
queue_ext_queue_release(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_release()");
	return with_run_at(fcinfo, [&](const FinishOptions &options) {
		return one(fcinfo, Action::release, Attempt::required, options);
	});
}

Datum
queue_ext_queue_release_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_release_many()");
	return with_run_at(fcinfo, [&](const FinishOptions &options) {
		return many(fcinfo, Action::release, Attempt::required, options);
	});
}

Datum
queue_ext_queue_extend(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_extend()");
	FinishOptions options = options_now();
	options.lease = argument::optional_positive(fcinfo, 3, "lease");
	return one(fcinfo, Action::extend, Attempt::required, options);
}

Datum
queue_ext_queue_extend_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_extend_many()");
	FinishOptions options = options_now();
	options.lease = argument::optional_positive(fcinfo, 3, "lease");
	return many(fcinfo, Action::extend, Attempt::required, options);
}

Datum
queue_ext_queue_cancel(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_cancel()");
	return one(fcinfo, Action::cancel, Attempt::optional, options_now());
}

Datum
queue_ext_queue_cancel_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_cancel_many()");
	return many(fcinfo, Action::cancel, Attempt::optional, options_now());
}

Datum
queue_ext_queue_requeue(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_requeue()");
	return one(fcinfo, Action::requeue, Attempt::optional, options_now());
}

Datum
queue_ext_queue_requeue_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_requeue_many()");
	return many(fcinfo, Action::requeue, Attempt::optional, options_now());
}

} // namespace queue_ext::queue
