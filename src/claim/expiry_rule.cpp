// expiry_rule.cpp - see expiry_rule.hpp.

#include "../postgres.hpp"

#include "expiry_rule.hpp"

#include "../catalog/column.hpp"
#include "../definition/shape.hpp"
#include "../row/rights.hpp"
#include "../schedule/occurrence.hpp"

namespace queue_ext::claim {

using catalog::find_column;
using definition::Definition;

bool
writes_expiry(const Definition *definition, bool reads_it)
{
	const Oid source = definition->source;
	if (!definition::has_expires_at(source))
		return false;
	const AttrNumber column = get_attnum(source, "expires_at");
	return may_expire(definition) ||
		   (row::may_write(source, column) && (!reads_it || row::may_read(source, column)));
}

ExpiryColumns
expiry_columns(const Definition *definition, Oid table)
{
	ExpiryColumns columns{};
	if (!may_expire(definition) || !definition::has_expires_at(definition->source))
		return columns;
	columns.expires_at = find_column(table, "expires_at", TIMESTAMPTZOID);
	columns.attempt = find_column(table, "attempt", INT4OID);
	columns.released = find_column(table, "released", INT4OID);
	columns.unique_key = find_column(table, "unique_key", TEXTOID);
	if (columns.attempt == InvalidAttrNumber)
		columns.expires_at = InvalidAttrNumber;
	return columns;
}

// One that was claimed so often, and given back so often.
static bool
was_started(int32 claims, int32 released)
{
	return claims > released;
}

TimestampTz
expiry_of(const ExpiryColumns &columns, TupleTableSlot *row)
{
	if (columns.expires_at == InvalidAttrNumber)
		return DT_NOEND;
	bool is_null;
	const auto value = [&](AttrNumber column) {
		is_null = true;
		return column == InvalidAttrNumber ? 0 : slot_getattr(row, column, &is_null);
	};
	const TimestampTz expires_at = DatumGetTimestampTz(value(columns.expires_at));
	if (is_null)
		return DT_NOEND;
	const int32 attempt = DatumGetInt32(value(columns.attempt));
	const Datum released = value(columns.released);
	if (was_started(attempt, is_null ? 0 : DatumGetInt32(released)))
		return DT_NOEND;
	const Datum unique_key = value(columns.unique_key);
	return !is_null && schedule::is_occurrence(unique_key) ? DT_NOEND : expires_at;
}

const char *
idle_text(const char *row, const char *moment)
{
	return psprintf("(%s.leased_until is null or %s.leased_until operator(pg_catalog.<=) %s)", row,
					row, moment);
}

const char *
unstarted_text(const Definition *definition, const char *row)
{
	const Oid table = definition->source;
	const char *released =
		definition::counts_releases(table) ? psprintf("coalesce(%s.released, 0)", row) : "0";
	const char *no_occurrence =
		find_column(table, "unique_key", TEXTOID) == InvalidAttrNumber
			? ""
			: psprintf(" and pg_catalog.starts_with(%s.unique_key, '%s') is not true", row,
					   schedule::occurrence_prefix);
	return psprintf("%s.attempt operator(pg_catalog.<=) %s%s", row, released, no_occurrence);
}

const char *
unexpired_condition(const Definition *definition)
{
	if (expiry_columns(definition, definition->source).expires_at == InvalidAttrNumber)
		return "";
	return psprintf(
		" and (t.expires_at is null or"
		" t.expires_at operator(pg_catalog.>) pg_catalog.clock_timestamp() or not (%s))",
		unstarted_text(definition, "t"));
}

} // namespace queue_ext::claim
