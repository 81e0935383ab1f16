// result.hpp - results of functions that return a row or a set.

#pragma once

#include "postgres.hpp"

namespace queue_ext::result {

// Returns the type of the row that the function returns. Where the caller has it at hand, as in FROM, that of a record is
// not read from the catalogs again, which takes a third as long as a claim. Raises XX000 if it returns none.
inline TupleDesc
row_type(FunctionCallInfo fcinfo)
{
	const auto *caller = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
	if (caller != nullptr && IsA(caller, ReturnSetInfo) && caller->expectedDesc != nullptr &&
		caller->expectedDesc->tdtypeid == RECORDOID)
		return CreateTupleDescCopy(caller->expectedDesc);
	TupleDesc type = nullptr;
	if (get_call_result_type(fcinfo, nullptr, &type) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return type;
}

// A row of that type, which must be blessed.
inline HeapTupleHeader
row_of_nulls(TupleDesc type)
{
	auto *values = static_cast<Datum *>(palloc0(sizeof(Datum) * type->natts));
	auto *nulls = static_cast<bool *>(palloc(sizeof(bool) * type->natts));
	memset(nulls, 1, type->natts);
	return heap_form_tuple(type, values, nulls)->t_data;
}

// Prepares the function to return a set, in a tuplestore, of the columns that the caller expects. Raises 0A000 where it
// cannot accept a set.
inline ReturnSetInfo *
begin_set(FunctionCallInfo fcinfo)
{
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	return reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
}

// Adds the first column of each row in SPI_tuptable, which must not be null.
inline void
put_first_columns(ReturnSetInfo *result)
{
	for (uint64 i = 0; i < SPI_tuptable->numvals; i++) {
		bool is_null;
		Datum value = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &is_null);
		tuplestore_putvalues(result->setResult, result->setDesc, &value, &is_null);
	}
}

// Adds one row per ID.
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
