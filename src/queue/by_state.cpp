// by_state.cpp - see by_state.hpp.

#include "../postgres.hpp"

#include "by_state.hpp"

#include "../statement/statement.hpp"

namespace queue_ext::queue {

void
run_by_state(const definition::Definition *definition, const char *text, const ::text *state,
			 bool is_read_only)
{
	Oid types[] = {TIMESTAMPTZOID, TEXTOID};
	Datum values[] = {TimestampTzGetDatum(GetCurrentTimestamp()), PointerGetDatum(state)};
	const char nulls[] = {' ', state == nullptr ? 'n' : ' ', '\0'};
	statement::run_once(definition->tables[0], text, types, lengthof(types), values, nulls,
						is_read_only);
}

} // namespace queue_ext::queue
