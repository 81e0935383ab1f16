// result.hpp - results of set-returning functions.

#pragma once

#include "postgres.hpp"

namespace queue_ext::result {

// Prepares the function to return a set of one column; what it returns goes to
// the tuplestore. Raises what PostgreSQL raises where a set cannot be taken.
inline ReturnSetInfo *
begin_scalar_set(FunctionCallInfo fcinfo)
{
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	return reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
}

// Adds the first column of every row that the last statement returned.
inline void
put_first_columns(ReturnSetInfo *result)
{
	for (uint64 i = 0; i < SPI_tuptable->numvals; i++) {
		bool is_null;
		Datum value = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &is_null);
		tuplestore_putvalues(result->setResult, result->setDesc, &value, &is_null);
	}
}

// Adds ids.
inline void
put_ids(ReturnSetInfo *result, const int64 *ids, int count)
{
	for (int i = 0; i < count; i++) {
		Datum value = Int64GetDatum(ids[i]);
		bool is_null = false;
		tuplestore_putvalues(result->setResult, result->setDesc, &value, &is_null);
	}
}

} // namespace queue_ext::result
