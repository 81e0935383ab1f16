// health.cpp - queue_health: what should be seen to, of the queues and of the server.
//
// No table is scanned: of a queue's table at most a hundred index entries are read (job_rows.hpp).
// Nothing waits: a table that another session has locked ACCESS EXCLUSIVE is passed over, and each
// is unlocked before the next one. Each queue is looked at in a subtransaction of its own: an error is a
// finding of that queue, and the others have theirs.

#include "../postgres.hpp"

#include "../definition/definition_cache.hpp"
#include "../definition/name.hpp"
#include "../definition/open.hpp"
#include "../definition/registry.hpp"
#include "../result.hpp"
#include "../row/rights.hpp"
#include "../statement/subtransaction.hpp"
#include "claims.hpp"
#include "jobs.hpp"
#include "server.hpp"
#include "table.hpp"

namespace queue_ext::health {

using definition::Definition;
using definition::Registered;

QUEUE_EXT_FUNCTION(queue_ext_queue_health);

namespace {

// The workers and the statistics of all queues, from shared memory; and the tables of those that take others' dead jobs.
struct Known
{
	AllWorkers workers;
	HTAB *counted;
	List *dead_queues;
};

} // namespace

static const Counted *
counted_of(const Known &known, const Definition *definition)
{
	if (known.counted == nullptr || !definition->is_managed)
		return nullptr;
	return static_cast<const Counted *>(
		hash_search(known.counted, &definition->source, HASH_FIND, nullptr));
}

// As in the view "queues".
static const char *
shown_name(Oid source, const char *name)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(source)), name);
}

static void
check_open(const Findings &findings, const Known &known, Relation table, Definition *definition)
{
	const Oid oid = RelationGetRelid(table);
	const Subject subject{&findings,
						  definition,
						  shown_name(oid, definition->name),
						  &known.workers,
						  counted_of(known, definition),
						  workers_of(known.workers, oid, definition->name),
						  row::may_read_all(oid),
						  list_member_oid(known.dead_queues, oid)};
	check_rights(subject, table);
	check_table(subject, table);
	const bool are_claims_noted = check_claims(subject, table);
	if (!definition->is_managed)
		return;
	check_jobs(subject, table, are_claims_noted);
	check_expiry(subject, table);
	check_dead_queue(subject, table);
	check_keep(subject, table);
	if (subject.may_read)
		check_sequence(subject, table);
}

static void
check_unlocked(const Findings &findings, const Known &known, Oid source, const char *name)
{
	if (!ConditionalLockRelationOid(source, AccessShareLock))
		return;
	Relation table = try_relation_open(source, NoLock);
	if (table != nullptr) {
		definition::begin_call();
		Definition *definition =
			RELATION_IS_OTHER_TEMP(table) ? nullptr : definition::find_definition(source, name);
		if (definition != nullptr)
			check_open(findings, known, table, definition);
		relation_close(table, NoLock);
	}
	UnlockRelationOid(source, AccessShareLock);
}

static void
check_queue(const Findings &findings, const Known &known, Oid source, const char *name)
{
	const char *message = nullptr;
	const auto look = [&] {
		check_unlocked(findings, known, source, name);
	};
	const auto is_of_queue = [&](const ErrorData *error) {
		message = pstrdup(error->message);
		return !statement::is_interrupt(error);
	};
	const bool is_done = statement::in_subtransaction(look, is_of_queue);
	if (!is_done && SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source)))
		put(findings, shown_name(source, name),
			{"not_checked", Severity::warning, psprintf("A look at it has failed: %s.", message),
			 "Mend that; until then findings of this queue may be missing."});
}

// Definitions stay in memory until the reset of the context in which they were looked up, and each
// lookup in a new one walks all of them.
static void
check_all(const Findings &findings, const Known &known, const List *queues)
{
	constexpr int most_at_once = 64;
	MemoryContext of_some = AllocSetContextCreate(
		CurrentMemoryContext, "queue_ext health of some queues", ALLOCSET_DEFAULT_SIZES);
	ListCell *cell;
	foreach (cell, queues) {
		CHECK_FOR_INTERRUPTS();
		const auto *queue = static_cast<const Registered *>(lfirst(cell));
		MemoryContext old = MemoryContextSwitchTo(of_some);
		check_queue(findings, known, queue->source, queue->name);
		MemoryContextSwitchTo(old);
		if (foreach_current_index(cell) % most_at_once == most_at_once - 1)
			MemoryContextReset(of_some);
	}
	MemoryContextDelete(of_some);
}

static List *
dead_queues_of(const List *queues)
{
	List *tables = NIL;
	ListCell *cell;
	foreach (cell, queues) {
		const Oid table = static_cast<const Registered *>(lfirst(cell))->dead_queue;
		if (OidIsValid(table))
			tables = list_append_unique_oid(tables, table);
	}
	return tables;
}

// Also works in a read-only transaction and on a standby, so it does not call check_may_write().
Datum
queue_ext_queue_health(PG_FUNCTION_ARGS)
{
	PreventCommandIfParallelMode("queue_health()");
	const Findings findings{result::begin_set(fcinfo), GetCurrentTimestamp()};
	const List *queues = definition::find_all();
	const Known known{find_workers(), find_counted(), dead_queues_of(queues)};
	if (!PG_ARGISNULL(0)) {
		const Definition *definition =
			definition::open_queue(PG_GETARG_TEXT_PP(0), definition::Use::name);
		check_queue(findings, known, definition->source, definition->name);
		return static_cast<Datum>(0);
	}
	check_all(findings, known, queues);
	check_server_rights(findings, known.counted != nullptr);
	check_vacuum(findings);
	check_version(findings);
	return static_cast<Datum>(0);
}

} // namespace queue_ext::health
