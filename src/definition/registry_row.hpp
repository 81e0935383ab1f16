// registry_row.hpp - the columns of the registry's rows, for registry.cpp.

#pragma once

#include "../postgres.hpp"

#include "../catalog/own_table.hpp"

namespace queue_ext::definition {

// The registry's columns, in the order of registry.sql.
enum Column : AttrNumber {
	column_name = 1,
	column_source,
	column_managed,
	column_claim_mode,
	column_paused,
	column_lease,
	column_max_attempts,
	column_backoff_base,
	column_backoff_cap,
	column_archived,
	column_archive,
	column_pending,
	column_order_by,
	column_on_claim,
	column_on_complete,
	column_on_release,
	column_on_fail,
	column_on_extend,
	column_search_path,
	column_created_at,
	column_ready_at,
	column_claimed_at,
	column_archive_keep,
	column_dead_keep,
	column_dead_queue,
	column_on_expire,
	column_count = column_on_expire,
};

// Those of 0.1, which has neither names of columns nor times to keep.
constexpr int first_column_count = column_created_at;

// Checked before each read: the library and the table may have different versions.
static constexpr catalog::OwnColumn registry_columns[] = {
	{"name", TEXTOID, true},
	{"source", REGCLASSOID, true},
	{"managed", BOOLOID, true},
	{"claim_mode", TEXTOID, true},
	{"paused", BOOLOID, true},
	{"lease", INTERVALOID, false},
	{"max_attempts", INT4OID, false},
	{"backoff_base", INTERVALOID, false},
	{"backoff_cap", INTERVALOID, false},
	{"archived", BOOLOID, true},
	{"archive", REGCLASSOID, false},
	{"pending", TEXTOID, true},
	{"order_by", TEXTOID, false},
	{"on_claim", TEXTOID, false},
	{"on_complete", TEXTOID, false},
	{"on_release", TEXTOID, false},
	{"on_fail", TEXTOID, false},
	{"on_extend", TEXTOID, false},
	{"search_path", TEXTOID, true},
	{"created_at", TIMESTAMPTZOID, true},
	{"ready_at", TEXTOID, false},
	{"claimed_at", TEXTOID, false},
	{"archive_keep", INTERVALOID, false},
	{"dead_keep", INTERVALOID, false},
	{"dead_queue", REGCLASSOID, false},
	{"on_expire", TEXTOID, false},
};
static_assert(lengthof(registry_columns) == column_count);

// Whether the registry has the columns of this version, and not only those of 0.1.
inline bool
has_all_columns(TupleDesc descriptor)
{
	return descriptor->natts >= column_count;
}

// Reads the columns of a row. A null is an empty value: null pointer, zero, false. So is a column that
// the registry lacks.
struct RowReader
{
	HeapTuple row;
	TupleDesc descriptor;

	Datum get(Column column, bool *is_null) const
	{
		*is_null = column > descriptor->natts;
		return *is_null ? 0 : heap_getattr(row, column, descriptor, is_null);
	}

	// For a column that is not null.
	Datum get(Column column) const
	{
		bool is_null;
		return get(column, &is_null);
	}

	const char *string(Column column) const
	{
		bool is_null;
		const Datum value = get(column, &is_null);
		return is_null ? nullptr : TextDatumGetCString(value);
	}

	Interval interval(Column column) const
	{
		bool is_null;
		const Datum value = get(column, &is_null);
		return is_null ? Interval{} : *DatumGetIntervalP(value);
	}

	int32 integer(Column column) const
	{
		bool is_null;
		const Datum value = get(column, &is_null);
		return is_null ? 0 : DatumGetInt32(value);
	}

	bool boolean(Column column) const
	{
		bool is_null;
		const Datum value = get(column, &is_null);
		return !is_null && DatumGetBool(value);
	}

	Oid oid(Column column) const
	{
		bool is_null;
		const Datum value = get(column, &is_null);
		return is_null ? InvalidOid : DatumGetObjectId(value);
	}
};

} // namespace queue_ext::definition
