// send.cpp - queue_send, queue_send_many: add jobs to a managed queue.

#include "../postgres.hpp"

#include "../claim/given_back.hpp"
#include "../definition/open.hpp"
#include "../error.hpp"
#include "../job/insert.hpp"
#include "../result.hpp"
#include "../stats/transaction_counters.hpp"
#include "calls_kept.hpp"
#include "send_options.hpp"

namespace queue_ext::queue {

using definition::Definition;
using statement::Arguments;
using statement::Parameter;

QUEUE_EXT_FUNCTION(queue_ext_queue_send);
QUEUE_EXT_FUNCTION(queue_ext_queue_send_many);

namespace {

// What a statement adds.
struct SendForm
{
	bool is_many; // a job for each payload
	bool has_kind;
	bool has_expiry;
};

} // namespace

static CallStatement
statement_of(const SendForm &form)
{
	static constexpr CallStatement of_one[] = {CallStatement::send, CallStatement::send_kind,
											   CallStatement::send_expiry,
											   CallStatement::send_kind_expiry};
	static constexpr CallStatement of_many[] = {
		CallStatement::send_many, CallStatement::send_many_kind, CallStatement::send_many_expiry,
		CallStatement::send_many_kind_expiry};
	const int index = (form.has_expiry ? 2 : 0) + (form.has_kind ? 1 : 0);
	return form.is_many ? of_many[index] : of_one[index];
}

// Returns the statement that adds one job, or one job for each payload. One without a kind, or an expiry, does not
// name the column, which a table of 0.1 does not have, and the sender may have no right on.
static const char *
send_text(const Definition *definition, const SendForm &form)
{
	const auto value = [](bool is_given, Parameter parameter) {
		return is_given ? psprintf(", %s", placeholder(parameter)) : "";
	};
	const char *source = form.is_many ? psprintf(" from pg_catalog.unnest(%s) as p(payload)",
												 placeholder(Parameter::payloads))
									  : "";
	return psprintf("insert into %s (payload, priority, run_at, max_attempts%s%s)"
					" select %s, %s, coalesce(%s, pg_catalog.now()), %s%s%s%s returning id",
					definition->source_name, form.has_kind ? ", kind" : "",
					form.has_expiry ? ", expires_at" : "",
					form.is_many ? "p.payload" : placeholder(Parameter::payload),
					placeholder(Parameter::priority), placeholder(Parameter::run_at),
					placeholder(Parameter::max_attempts), value(form.has_kind, Parameter::kind),
					value(form.has_expiry, Parameter::expires_at), source);
}

static const statement::Statement &
statement_for(Definition *definition, bool is_many, const Arguments &arguments)
{
	const SendForm form{is_many, arguments.has(Parameter::kind),
						arguments.has(Parameter::expires_at)};
	return prepared_of(definition, kept_for_calls(definition, statement_of(form)),
					   [&] { return send_text(definition, form); });
}

namespace {

// The ID of the new job, unless a trigger suppressed the row.
struct Sent
{
	int64 id;
	bool is_there;
};

} // namespace

// For tables that the direct path does not serve. Notes a wake-up, which the direct path does
// itself.
static Sent
send_by_statement(Definition *definition, const Arguments &arguments)
{
	Sent sent{};
	const int64 counted = stats::counted(definition, stats::Counter::sent);
	statement::with_spi([&] {
		if (run(statement_for(definition, false, arguments), arguments) == 0)
			return;
		bool is_null;
		sent.id =
			DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));
		sent.is_there = true;
	});
	claim::count_sent(definition, counted, sent.is_there);
	claim::note_given_back(definition, 0);
	return sent;
}

// Adds the job without a statement where that has the same effects (job/insert.hpp).
static Sent
send(Definition *definition, const Arguments &arguments)
{
	const Datum payload = arguments.values[static_cast<int>(Parameter::payload)];
	const job::NewJobs jobs = job::new_jobs(arguments, &payload, 1);
	if (!job::can_insert_directly(definition, jobs))
		return send_by_statement(definition, arguments);
	Sent sent{0, true};
	job::insert_directly(definition, jobs, &sent.id);
	return sent;
}

// Returns the IDs in the order of the payloads; a row that a trigger suppressed has none.
static void
send_many(Definition *definition, const Arguments &arguments, ArrayType *payloads,
		  ReturnSetInfo *result)
{
	job::NewJobs jobs = job::new_jobs(arguments, nullptr, 0);
	if (!job::can_insert_directly(definition, jobs)) {
		const int64 counted = stats::counted(definition, stats::Counter::sent);
		statement::with_spi([&] {
			const uint64 inserted = run(statement_for(definition, true, arguments), arguments);
			result::put_first_columns(result);
			claim::count_sent(definition, counted, static_cast<int64>(inserted));
		});
		claim::note_given_back(definition, 0);
		return;
	}
	Datum *values;
	deconstruct_array(payloads, JSONBOID, -1, false, TYPALIGN_INT, &values, nullptr, &jobs.count);
	jobs.payloads = values;
	auto *ids = static_cast<int64 *>(palloc(sizeof(int64) * (jobs.count + 1)));
	job::insert_directly(definition, jobs, ids);
	result::put_ids(result, ids, jobs.count);
}

Datum
queue_ext_queue_send(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_send()");
	const text *name = argument::required_text(fcinfo, 0, "queue");
	argument::check_not_null(fcinfo, 1, "payload");
	Definition *definition =
		open_managed_queue(name, definition::Use::insert, "Insert into its table.");
	Arguments arguments = read_send_options(fcinfo, 2, definition);
	read_expiry(fcinfo, 6, definition, &arguments);
	arguments.set(Parameter::payload, PG_GETARG_DATUM(1));
	const Sent sent = send(definition, arguments);
	if (!sent.is_there) // a trigger suppressed the row
		PG_RETURN_NULL();
	PG_RETURN_INT64(sent.id);
}

Datum
queue_ext_queue_send_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_send_many()");
	ReturnSetInfo *result = result::begin_set(fcinfo);
	const text *name = argument::required_text(fcinfo, 0, "queue");
	ArrayType *payloads = argument::required_array(fcinfo, 1, "payloads");
	if (array_contains_nulls(payloads))
		error::null_element("payloads");
	Definition *definition =
		open_managed_queue(name, definition::Use::insert, "Insert into its table.");
	Arguments arguments = read_send_options(fcinfo, 2, definition);
	read_expiry(fcinfo, 6, definition, &arguments);
	arguments.set(Parameter::payloads, PointerGetDatum(payloads));
	send_many(definition, arguments, payloads, result);
	return static_cast<Datum>(0);
}

} // namespace queue_ext::queue
