// send.cpp - queue_send, queue_send_many.

#include "../postgres.hpp"

#include "cache.hpp"
#include "rows.hpp"
#include "send.hpp"

namespace queue_ext::queue {

QUEUE_EXT_FUNCTION(queue_ext_queue_send);
QUEUE_EXT_FUNCTION(queue_ext_queue_send_many);

// The statement that adds one job, or one for each payload.
static const char *
send_text(const Definition *definition, bool is_many)
{
	const char *source = is_many ? psprintf(" from pg_catalog.unnest(%s) as p(payload)",
											placeholder(Parameter::payloads))
								 : "";
	return psprintf("insert into %s (payload, priority, run_at, max_attempts)"
					" select %s, %s, coalesce(%s, pg_catalog.now()), %s%s returning id",
					definition->source_name,
					is_many ? "p.payload" : placeholder(Parameter::payload),
					placeholder(Parameter::priority), placeholder(Parameter::run_at),
					placeholder(Parameter::max_attempts), source);
}

static const Statement &
statement_for(Definition *definition, bool is_many)
{
	return prepared_of(definition, is_many ? Prepared::send_many : Prepared::send,
					   [&] { return send_text(definition, is_many); });
}

Datum
queue_ext_queue_send(PG_FUNCTION_ARGS)
{
	PreventCommandIfReadOnly("queue_send()");
	const text *name = required_text(fcinfo, 0, "queue");
	check_not_null(fcinfo, 1, "payload");
	Definition *definition = open_managed_queue(name, RowExclusiveLock, "Insert into its table.");
	Arguments arguments = read_send_options(fcinfo, 2, definition);
	arguments.set(Parameter::payload, PG_GETARG_DATUM(1));

	int64 id = 0;
	bool is_null = true; // stays so when a trigger has swallowed the row
	with_spi([&] {
		if (run(statement_for(definition, false), arguments) > 0)
			id = DatumGetInt64(
				SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));
	});
	if (is_null)
		PG_RETURN_NULL();
	wake_for_new(fcinfo, 2, definition);
	PG_RETURN_INT64(id);
}

Datum
queue_ext_queue_send_many(PG_FUNCTION_ARGS)
{
	PreventCommandIfReadOnly("queue_send_many()");
	ReturnSetInfo *result = begin_scalar_set(fcinfo);
	const text *name = required_text(fcinfo, 0, "queue");
	ArrayType *payloads = required_array(fcinfo, 1, "payloads");
	if (array_contains_nulls(payloads))
		error::null_element("payloads");
	Definition *definition = open_managed_queue(name, RowExclusiveLock, "Insert into its table.");
	Arguments arguments = read_send_options(fcinfo, 2, definition);
	arguments.set(Parameter::payloads, PointerGetDatum(payloads));

	with_spi([&] {
		run(statement_for(definition, true), arguments);
		put_first_columns(result);
	});
	wake_for_new(fcinfo, 2, definition);
	return static_cast<Datum>(0);
}

} // namespace queue_ext::queue
