// run_as_owner.cpp - a statement on a queue's table, run as the owner of the table.
//
// scaleout/move reads and writes the tables of queues as a superuser. Triggers, defaults and expressions of
// indexes are their owner's code, and must not run with a superuser's rights: so they run with the owner's,
// in a security-restricted operation, as in REINDEX and ANALYZE. A deferred trigger would run as the
// session's role at the end of the transaction; PostgreSQL raises 42501 for one in such an operation.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../catalog/owner.hpp"
#include "../error.hpp"
#include "../statement/statement.hpp"

namespace queue_ext::scaleout {

QUEUE_EXT_FUNCTION(queue_ext_run_as_owner);

// The first value that the statement returns, or null; $1 of the statement is the third argument. Raises
// 42501 for callers without the rights of the owner, 42P01 if there is no such table, and what the statement
// raises. FORCE ROW LEVEL SECURITY does not hide rows from it, so that a move leaves none behind.
Datum
queue_ext_run_as_owner(PG_FUNCTION_ARGS)
{
	PreventCommandIfParallelMode("run_as_owner()");
	if (PG_ARGISNULL(0))
		error::null_argument("_table");
	const Oid table = PG_GETARG_OID(0);
	const char *text = text_to_cstring(argument::required_text(fcinfo, 1, "_statement"));
	const Oid owner = catalog::find_owner(table);
	if (!OidIsValid(owner))
		error::no_such_table(table);
	if (!has_privs_of_role(GetUserId(), owner))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, get_rel_name(table));

	Oid type = JSONBOID;
	Datum value = PG_ARGISNULL(2) ? static_cast<Datum>(0) : PG_GETARG_DATUM(2);
	const char null = PG_ARGISNULL(2) ? 'n' : ' ';
	Datum result = 0;
	bool is_null = true;
	statement::with_spi([&] {
		catalog::as_restricted_owner_of(
			table,
			[&] {
				const int outcome = SPI_execute_with_args(text, 1, &type, &value, &null, false, 1);
				if (outcome < 0)
					elog(ERROR, "SPI_execute_with_args: %s", SPI_result_code_string(outcome));
			},
			SECURITY_NOFORCE_RLS);
		if (SPI_tuptable == nullptr || SPI_processed == 0)
			return;
		if (SPI_gettypeid(SPI_tuptable->tupdesc, 1) != JSONBOID)
			error::no_jsonb();
		result = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
		if (!is_null)
			result = SPI_datumTransfer(result, false, -1);
	});
	if (is_null)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(result);
}

} // namespace queue_ext::scaleout
