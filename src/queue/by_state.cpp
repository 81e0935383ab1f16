// by_state.cpp - see by_state.hpp.

#include "../postgres.hpp"

#include "by_state.hpp"

#include "../statement/qualify.hpp"

namespace queue_ext::queue {

void
run_by_state(const char *statement, const text *state, bool is_read_only)
{
	Assert(statement::is_qualified(statement));
	Oid types[] = {TIMESTAMPTZOID, TEXTOID};
	Datum values[] = {TimestampTzGetDatum(GetCurrentTimestamp()), PointerGetDatum(state)};
	const char nulls[] = {' ', state == nullptr ? 'n' : ' ', '\0'};
	const int result =
		SPI_execute_with_args(statement, lengthof(types), types, values, nulls, is_read_only, 0);
	if (result < 0)
		elog(ERROR, "could not run statement: %s", SPI_result_code_string(result));
}

} // namespace queue_ext::queue
