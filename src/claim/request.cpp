// request.cpp - see request.hpp.

#include "../postgres.hpp"

#include "request.hpp"

#include "../catalog/column.hpp"

namespace queue_ext::claim {

void
put_rows(uint64 count, const Output &output)
{
	if (count == 0)
		return;
	TupleConversionMap *map = convert_tuples_by_name(SPI_tuptable->tupdesc, output.descriptor);
	for (uint64 i = 0; i < count; i++) {
		CHECK_FOR_INTERRUPTS();
		HeapTuple row = SPI_tuptable->vals[i];
		tuplestore_puttuple(output.store, map == nullptr ? row : execute_attr_map_tuple(row, map));
	}
}

bool
get_time(HeapTuple row, const char *name, TimestampTz *time)
{
	Datum value;
	if (!catalog::get_value(row, SPI_tuptable->tupdesc, name, TIMESTAMPTZOID, &value))
		return false;
	*time = DatumGetTimestampTz(value);
	return true;
}

} // namespace queue_ext::claim
