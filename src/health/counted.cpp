// counted.cpp - see counted.hpp.

#include "../postgres.hpp"

#include "counted.hpp"

#include "../catalog/own_table.hpp"
#include "../compat.hpp"
#include "../statement/statement.hpp"

namespace queue_ext::health {

using statement::Statement;

// The function behind the view queue_stats; InvalidOid if the caller may not call it.
static Oid
find_function(const char *schema)
{
	const Oid function = LookupFuncName(
		list_make2(makeString(pstrdup(schema)), makeString(pstrdup("queue_stats_counters"))), 0,
		nullptr, true);
	const bool may_call =
		OidIsValid(function) && compat::check_function(function, GetUserId()) == ACLCHECK_OK;
	return may_call ? function : InvalidOid;
}

// A column of the statement's row; that value for a null.
static int64
column_of(HeapTuple row, int column, int64 for_null)
{
	bool is_null;
	const Datum value = SPI_getbinval(row, SPI_tuptable->tupdesc, column, &is_null);
	return is_null ? for_null : DatumGetInt64(value);
}

static void
add(HTAB *all, HeapTuple row)
{
	bool is_null;
	const Oid table = DatumGetObjectId(SPI_getbinval(row, SPI_tuptable->tupdesc, 1, &is_null));
	auto *counted = static_cast<Counted *>(hash_search(all, &table, HASH_ENTER, nullptr));
	*counted = {table, column_of(row, 2, 0), column_of(row, 3, 0), column_of(row, 4, 0),
				column_of(row, 5, DT_NOEND)};
}

HTAB *
find_counted()
{
	const char *schema = catalog::own_schema();
	if (!OidIsValid(find_function(schema)))
		return nullptr;
	HASHCTL control{};
	control.keysize = sizeof(Oid);
	control.entrysize = sizeof(Counted);
	control.hcxt = CurrentMemoryContext;
	HTAB *all =
		hash_create("queue_ext counted", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	const char *text = psprintf(
		"select source, claimed, expired, since, oldest_ready_at from %s.queue_stats_counters()"
		" where name is null",
		quote_identifier(schema));
	statement::with_spi([&] {
		Statement prepared{};
		statement::prepare(&prepared, text, nullptr, 0, statement::Access::anywhere, {},
						   {"check", nullptr});
		const Statement statement = prepared;
		statement::discard_later(&prepared);
		statement::run(statement, nullptr, nullptr);
		for (uint64 i = 0; i < SPI_tuptable->numvals; i++)
			add(all, SPI_tuptable->vals[i]);
	});
	return all;
}

} // namespace queue_ext::health
