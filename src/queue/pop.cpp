// pop.cpp - queue_pop, queue_pop_rows: claim jobs; and queue_is_held, which their statements call.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../claim/claim.hpp"
#include "../compat.hpp"
#include "../definition/open.hpp"
#include "../error.hpp"
#include "../held/rows.hpp"
#include "../result.hpp"
#include "pop_call.hpp"

namespace queue_ext::queue {

using claim::Request;
using definition::Definition;
using definition::Use;

QUEUE_EXT_FUNCTION(queue_ext_queue_pop);
QUEUE_EXT_FUNCTION(queue_ext_queue_pop_rows);
QUEUE_EXT_FUNCTION(queue_ext_queue_is_held);

// A paused queue returns no rows and raises no error.
static Datum
pop(FunctionCallInfo fcinfo, Definition *definition, const Request &request, TupleDesc descriptor)
{
	const auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
	if (!definition->is_paused)
		claim::claim(definition, request, {result->setResult, descriptor});
	return static_cast<Datum>(0);
}

Datum
queue_ext_queue_pop(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_pop()");
	InitMaterializedSRF(fcinfo, 0);
	const text *name = argument::required_text(fcinfo, 0, "queue");
	Request request = read_pop(fcinfo, 1);
	request.kinds = argument_kinds(fcinfo, 4);
	Definition *definition = definition::open_managed_queue(
		name, Use::claim, "Use queue_pop_rows(), which returns rows of its table.");
	check_kinds(definition, request);
	return pop(
		fcinfo, definition, request,
		job_columns_of(definition, reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo)->setDesc));
}

// Returns the table whose row type it is. Raises 42804 if it is none.
static Oid
table_of(Oid type)
{
	const Oid table = OidIsValid(type) ? get_typ_typrelid(type) : InvalidOid;
	if (!OidIsValid(table))
		error::not_a_row_type(type);
	return table;
}

// The statement expects the columns that the table had when it began, and they may have changed
// while the call waited for the lock. Returns the expected descriptor with the present names of the
// columns, and with dropped ones marked as dropped: they come out null.
static TupleDesc
expected_of_now(TupleDesc expected, Oid table)
{
	TupleDesc shape = CreateTupleDescCopy(expected);
	Relation relation = table_open(table, NoLock);
	const TupleDesc now = RelationGetDescr(relation);
	for (int i = 0; i < Min(shape->natts, now->natts); i++) {
		if (TupleDescAttr(now, i)->attisdropped)
			compat::mark_dropped(shape, i);
		else
			TupleDescAttr(shape, i)->attname = TupleDescAttr(now, i)->attname;
	}
	table_close(relation, NoLock);
	return shape;
}

Datum
queue_ext_queue_pop_rows(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_pop_rows()");
	const Oid type = get_fn_expr_argtype(fcinfo->flinfo, 0);
	const Oid table = table_of(type);
	const ReturnSetInfo *result = result::begin_set(fcinfo);
	const Request request = read_pop(fcinfo, 2);
	Definition *definition = PG_ARGISNULL(1)
								 ? definition::open_queue_of_table(table, Use::claim)
								 : definition::open_queue(PG_GETARG_TEXT_PP(1), Use::claim);
	if (definition->row_type != type)
		error::wrong_row_type(definition->name, definition->row_type, type);
	return pop(fcinfo, definition, request, expected_of_now(result->setDesc, table));
}

// A transaction does not skip its own row locks, nor a session its own advisory locks, so the claim
// statements of the lock modes leave out by this function the rows that the session already has.
Datum
queue_ext_queue_is_held(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(held::is_known(PG_GETARG_OID(0), text_to_cstring(PG_GETARG_TEXT_PP(1))));
}

} // namespace queue_ext::queue
