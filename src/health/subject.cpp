// subject.cpp - see subject.hpp.

#include "../postgres.hpp"

#include "subject.hpp"

#include "../catalog/own_table.hpp"
#include "../claim/choice.hpp"
#include "../compat.hpp"
#include "../ring/shared_memory.hpp"
#include "../statement/statement.hpp"

namespace queue_ext::health {

using ring::Ring;
using statement::Statement;

// In seconds.
static int patience = 300;

void
define_patience()
{
	DefineCustomIntVariable("queue_ext.health_patience",
							"Sets how long queue_health() takes no notice of what may pass.",
							"That is open transactions, and ready jobs that no worker takes.",
							&patience, patience, 0, INT_MAX, PGC_USERSET, GUC_UNIT_S, nullptr,
							nullptr, nullptr);
}

int64
patience_us()
{
	return patience * USECS_PER_SEC;
}

static const char *
name_of(Severity severity)
{
	switch (severity) {
		case Severity::critical:
			return "critical";
		case Severity::warning:
			return "warning";
		case Severity::info:
			return "info";
	}
	pg_unreachable();
}

void
put(const Findings &findings, const char *queue, const Finding &finding)
{
	Datum values[] = {
		CStringGetTextDatum(finding.name),
		CStringGetTextDatum(name_of(finding.severity)),
		queue == nullptr ? static_cast<Datum>(0) : CStringGetTextDatum(queue),
		CStringGetTextDatum(finding.detail),
		CStringGetTextDatum(finding.hint),
	};
	bool nulls[lengthof(values)] = {};
	nulls[2] = queue == nullptr;
	tuplestore_putvalues(findings.result->setResult, findings.result->setDesc, values, nulls);
}

const char *
moment_text(TimestampTz moment)
{
	return pstrdup(timestamptz_to_str(moment));
}

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

// A hash table in the current context, whose entries begin with the OID of a table.
static HTAB *
create_by_table(const char *name, Size entry_size)
{
	HASHCTL control{};
	control.keysize = sizeof(Oid);
	control.entrysize = entry_size;
	control.hcxt = CurrentMemoryContext;
	return hash_create(name, 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

HTAB *
find_counted()
{
	const char *schema = catalog::own_schema();
	if (!OidIsValid(find_function(schema)))
		return nullptr;
	HTAB *all = create_by_table("queue_ext counted", sizeof(Counted));
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

namespace {

// Several queues may be on one table.
struct Entry
{
	Oid table;
	List *workers;
};

} // namespace

static Workers *
find_in(const List *list, const char *queue)
{
	ListCell *cell;
	foreach (cell, list) {
		auto *workers = static_cast<Workers *>(lfirst(cell));
		if (strcmp(NameStr(workers->queue), queue) == 0)
			return workers;
	}
	return nullptr;
}

static void
add(HTAB *by_table, const Ring &ring)
{
	bool is_found;
	auto *entry =
		static_cast<Entry *>(hash_search(by_table, &ring.key.table, HASH_ENTER, &is_found));
	if (!is_found)
		entry->workers = NIL;
	Workers *workers = find_in(entry->workers, NameStr(ring.key.queue));
	if (workers == nullptr) {
		workers = static_cast<Workers *>(palloc0(sizeof(Workers)));
		workers->queue = ring.key.queue;
		entry->workers = lappend(entry->workers, workers);
	}
	workers->came_at = Max(workers->came_at, ring.used_at);
	workers->waiting += ring.waiters.count;
	workers->sweep_cost_us = Max(workers->sweep_cost_us, ring.sweep.cost_us);
	const char *tid = claim::name_of(claim::Path::tid);
	if (strncmp(ring.path, tid, strlen(tid)) == 0) {
		workers->is_by_tid = true;
		strlcpy(workers->path, ring.path, sizeof(workers->path));
	}
}

// A queue without a ring of its own is none without workers if others have taken the rings.
AllWorkers
find_workers()
{
	HTAB *by_table = create_by_table("queue_ext workers", sizeof(Entry));
	const int count = ring::ring_count();
	int used = 0;
	auto *ring = static_cast<Ring *>(palloc(sizeof(Ring)));
	for (int place = 0; place < count; place++) {
		CHECK_FOR_INTERRUPTS();
		const bool is_of_this = copy_ring(place, ring);
		used += OidIsValid(ring->key.database) ? 1 : 0;
		if (is_of_this)
			add(by_table, *ring);
	}
	pfree(ring);
	return {by_table, used > count / 2};
}

const Workers *
workers_of(const AllWorkers &all, Oid table, const char *queue)
{
	const auto *entry =
		static_cast<const Entry *>(hash_search(all.by_table, &table, HASH_FIND, nullptr));
	return entry == nullptr ? nullptr : find_in(entry->workers, queue);
}

} // namespace queue_ext::health
