// find.cpp - see find.hpp.

#include "../postgres.hpp"

#include "find.hpp"

#include "../array.hpp"
#include "../catalog/column.hpp"
#include "../catalog/indexes.hpp"
#include "../catalog/owner.hpp"
#include "../claim/as_owner.hpp"
#include "../claim/expiry_rule.hpp"
#include "../definition/managed.hpp"
#include "../definition/queue_indexes.hpp"
#include "../definition/shape.hpp"
#include "../job/job.hpp"
#include "../missing_rights.hpp"
#include "../row/newest.hpp"
#include "../row/rights.hpp"

namespace queue_ext::unique {

using catalog::find_column;
using claim::may_expire;
using definition::Definition;
using row::close_newest;
using row::NewestScan;
using row::next_row;
using row::open_newest;
using row::restart;
using statement::Arguments;
using statement::Parameter;
using statement::Statement;

namespace {

// The columns that a lookup reads, and the index that it can scan.
struct Lookup
{
	Oid index; // InvalidOid: no index can be scanned
	AttrNumber id;
	AttrNumber run_at;
	AttrNumber leased_until;
	AttrNumber dead_at;
	AttrNumber payload;
	claim::ExpiryColumns expiry;
};

struct UniqueKept
{
	static constexpr definition::Layer layer = definition::Layer::unique;
	const Lookup *lookup; // null until it is needed
	Statement *statements[unique_statement_count];
};

} // namespace

definition::KeptStatement
kept_for_unique(Definition *definition, UniqueStatement which)
{
	return definition::kept_statement<UniqueKept>(definition, which, job::act_of_unique_insert);
}

// Leaves out an index with indcheckxmin, which must not be used under every snapshot.
static bool
is_of_key(Relation index, AttrNumber key)
{
	const Form_pg_index form = index->rd_index;
	return form->indisvalid && !form->indcheckxmin && form->indkey.values[0] == key &&
		   index->rd_rel->relam == BTREE_AM_OID && index->rd_indcollation[0] == C_COLLATION_OID;
}

// Whether the index has an entry for every row whose key is not null.
static bool
has_all_keys(Relation index, AttrNumber key)
{
	const List *predicate = catalog::index_predicate(index);
	return predicate == NIL || definition::is_null_test(predicate, key, IS_NOT_NULL);
}

// Returns an index that serves lookups by unique_key, or InvalidOid. Keeps ACCESS SHARE on all
// indexes of the table until the end of the transaction.
static Oid
find_index(Oid source)
{
	const AttrNumber key = find_column(source, "unique_key", TEXTOID);
	if (key == InvalidAttrNumber)
		return InvalidOid;
	Oid found = InvalidOid;
	Relation table = table_open(source, NoLock);
	List *indexes = RelationGetIndexList(table);
	ListCell *cell;
	foreach (cell, indexes) {
		Relation index = index_open(lfirst_oid(cell), AccessShareLock);
		if (!OidIsValid(found) && is_of_key(index, key) && has_all_keys(index, key))
			found = lfirst_oid(cell);
		index_close(index, NoLock);
	}
	list_free(indexes);
	table_close(table, NoLock);
	return found;
}

// Makes the definition's lookup at the first call. A change of the table or its indexes invalidates
// the definition, and the lookup with it.
static const Lookup &
lookup_of(Definition *definition)
{
	auto *kept = definition::beside<UniqueKept>(definition);
	if (kept->lookup == nullptr) {
		auto *lookup =
			static_cast<Lookup *>(definition::allocate_beside(definition, sizeof(Lookup)));
		const Oid source = definition->source;
		lookup->id = find_column(source, "id", INT8OID);
		lookup->run_at = find_column(source, "run_at", TIMESTAMPTZOID);
		lookup->leased_until = find_column(source, "leased_until", TIMESTAMPTZOID);
		lookup->dead_at = find_column(source, "dead_at", TIMESTAMPTZOID);
		lookup->payload = find_column(source, "payload", JSONBOID);
		lookup->expiry = claim::expiry_columns(definition, source);
		const bool has_all = lookup->id > 0 && lookup->run_at > 0 && lookup->leased_until > 0 &&
							 lookup->dead_at > 0 && lookup->payload > 0;
		const bool is_plain = !definition->is_partitioned && !definition->has_children &&
							  get_rel_relkind(source) == RELKIND_RELATION;
		if (has_all && is_plain)
			lookup->index = find_index(source);
		kept->lookup = lookup;
		definition::note_growth(definition);
	}
	return *kept->lookup;
}

// Asked at each call, since privileges and row security depend on the current role.
static bool
may_read_at_once(Definition *definition)
{
	return OidIsValid(lookup_of(definition).index) &&
		   row::has_rights(definition->source, ACL_SELECT) &&
		   check_enable_rls(definition->source, InvalidOid, true) != RLS_ENABLED;
}

static void
add(Found *found, const FoundJob &job)
{
	if (found->count == found->capacity) {
		found->capacity = Max(4, 2 * found->capacity);
		const Size size = sizeof(FoundJob) * found->capacity;
		found->jobs = static_cast<FoundJob *>(found->jobs == nullptr ? palloc(size)
																	 : repalloc(found->jobs, size));
	}
	found->jobs[found->count++] = job;
}

// Compares the values, since unequal ones may have the same key, and an UPDATE may have changed the
// payload.
static bool
has_values(const Criteria &criteria, Datum payload, const JobKey &key)
{
	Jsonb *document = DatumGetJsonbP(payload);
	// An UPDATE may have replaced the payload by one that is no object.
	if (!criteria.is_whole && criteria.names.count > 0 && !JB_ROOT_IS_OBJECT(document))
		return false;
	int length;
	char *values = values_of(criteria, document, &length);
	const bool is_equal = length == key.values_length && memcmp(values, key.values, length) == 0;
	pfree(values);
	if (PointerGetDatum(document) != payload)
		pfree(document);
	return is_equal;
}

// What becomes of a job that has expired.
static State
state_of_expired(const Definition *definition)
{
	return definition->on_expire == definition::OnExpire::dead ? State::dead : State::done;
}

// Computes the state as definition::job_state() does in SQL, but for a job that has expired: see expired_text().
static State
state_of_row(const Definition *definition, const Lookup &lookup, TupleTableSlot *row,
			 TimestampTz now)
{
	bool is_null;
	Datum value = slot_getattr(row, lookup.dead_at, &is_null);
	if (!is_null && DatumGetTimestampTz(value) <= now)
		return State::dead;
	const bool may_die = !is_null;
	value = slot_getattr(row, lookup.leased_until, &is_null);
	if (!is_null && DatumGetTimestampTz(value) > now)
		return State::leased;
	if (!may_die && claim::expiry_of(lookup.expiry, row) <= now)
		return state_of_expired(definition);
	value = slot_getattr(row, lookup.run_at, &is_null);
	return !is_null && DatumGetTimestampTz(value) > now ? State::scheduled : State::ready;
}

// Looks the keys up by index scans. The clock is read here, after the locks were granted.
static void
read_at_once(Definition *definition, const Criteria &criteria, const JobKey *keys, int count,
			 Found *found)
{
	const Lookup &lookup = lookup_of(definition);
	const TimestampTz now = GetCurrentTimestamp();
	const NewestScan scan = open_newest(definition->source, NoLock, lookup.index, 1);
	for (int i = 0; i < count; i++) {
		CHECK_FOR_INTERRUPTS();
		ScanKeyData key;
		ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_TEXTEQ,
					PointerGetDatum(cstring_to_text(keys[i].text)));
		restart(scan, &key, 1);
		while (next_row(scan)) {
			bool is_null;
			const int64 id = DatumGetInt64(slot_getattr(scan.row, lookup.id, &is_null));
			const State state = state_of_row(definition, lookup, scan.row, now);
			const Datum payload = slot_getattr(scan.row, lookup.payload, &is_null);
			add(&found[i], {id, state, !is_null && has_values(criteria, payload, keys[i])});
		}
	}
	close_newest(scan);
}

// Returns each job with the position of its key in the array, counted from 1.
static const char *
find_text(const Definition *definition)
{
	return psprintf(
		"select k.place, t.id::pg_catalog.int8, %s, t.payload::pg_catalog.jsonb"
		" from %s as t join pg_catalog.unnest(%s) with ordinality as k(unique_key, place)"
		" on t.unique_key operator(pg_catalog.=) k.unique_key",
		definition::job_state(statement::placeholder(Parameter::call_time)),
		definition->source_name, statement::placeholder(Parameter::unique_keys));
}

// Relies on State beginning with the states of definition::job_states.
static State
state_named(const char *name)
{
	for (int i = 0; i < static_cast<int>(lengthof(definition::job_states)); i++)
		if (strcmp(name, definition::job_states[i]) == 0)
			return static_cast<State>(i);
	elog(ERROR, "unknown state: %s", name);
}

// Looks all keys up by one statement, which checks column privileges and applies policies.
static void
read_by_statement(Definition *definition, const Criteria &criteria, const JobKey *keys, int count,
				  Found *found)
{
	auto *texts = static_cast<Datum *>(palloc(sizeof(Datum) * count));
	for (int i = 0; i < count; i++)
		texts[i] = PointerGetDatum(cstring_to_text(keys[i].text));
	Arguments arguments(GetCurrentTimestamp());
	arguments.set(Parameter::unique_keys,
				  PointerGetDatum(construct_array(texts, count, TEXTOID, -1, false, TYPALIGN_INT)));
	const Statement &statement = definition::prepared_of(
		definition, kept_for_unique(definition, UniqueStatement::find),
		statement::Access::by_values, [&] { return find_text(definition); });
	statement::run_newest(statement, arguments);
	TupleDesc shape = SPI_tuptable->tupdesc;
	for (uint64 i = 0; i < SPI_tuptable->numvals; i++) {
		CHECK_FOR_INTERRUPTS();
		HeapTuple row = SPI_tuptable->vals[i];
		bool is_null;
		const int64 place = DatumGetInt64(SPI_getbinval(row, shape, 1, &is_null)) - 1;
		const int64 id = DatumGetInt64(SPI_getbinval(row, shape, 2, &is_null));
		const State state = state_named(SPI_getvalue(row, shape, 3));
		const Datum payload = SPI_getbinval(row, shape, 4, &is_null);
		add(&found[place], {id, state, !is_null && has_values(criteria, payload, keys[place])});
	}
	SPI_freetuptable(SPI_tuptable);
}

// Those of an array of IDs that have expired, as looks and queue_maintain() find them (claim/expired_jobs.cpp). The
// conditions are such as no index but that of the ids serves.
static const char *
expired_text(const Definition *definition)
{
	const char *now = statement::placeholder(Parameter::call_time);
	return psprintf("select t.id::pg_catalog.int8 from %s as t"
					" where t.id operator(pg_catalog.=) any (%s)"
					" and coalesce(t.expires_at, 'infinity') operator(pg_catalog.<=) %s"
					" and pg_catalog.num_nulls(t.dead_at) operator(pg_catalog.=) 1 and %s and %s",
					definition->source_name, statement::placeholder(Parameter::ids), now,
					claim::idle_text("t", now), claim::unstarted_text(definition, "t"));
}

// Whether the caller may read what the statement reads.
static bool
may_read_expiry(const Definition *definition)
{
	static constexpr const char *columns[] = {"id",           "unique_key", "expires_at", "dead_at",
											  "leased_until", "attempt",    "released"};
	const Oid source = definition->source;
	missing_rights::Need *need = missing_rights::need_of(source, ACL_SELECT);
	need->selected = missing_rights::column_set(
		source, columns, lengthof(columns) - (definition::counts_releases(source) ? 0 : 1));
	return missing_rights::grants_for(list_make1(need)) == nullptr;
}

namespace {

// A found job that waits.
struct WaitingJob
{
	int64 id;
	FoundJob *found;
};

// Those, by their IDs.
struct Waiting
{
	WaitingJob *jobs;
	int count;
};

} // namespace

static int
compare_ids(const void *left, const void *right)
{
	return compare_int64(&static_cast<const WaitingJob *>(left)->id,
						 &static_cast<const WaitingJob *>(right)->id);
}

static Waiting
waiting_of(const Found *found, int count)
{
	int most = 0;
	for (int i = 0; i < count; i++)
		most += found[i].count;
	Waiting waiting{static_cast<WaitingJob *>(palloc(sizeof(WaitingJob) * Max(most, 1))), 0};
	for (int i = 0; i < count; i++)
		for (int j = 0; j < found[i].count; j++) {
			FoundJob *job = &found[i].jobs[j];
			if (job->state == State::ready || job->state == State::scheduled)
				waiting.jobs[waiting.count++] = {job->id, job};
		}
	qsort(waiting.jobs, waiting.count, sizeof(WaitingJob), compare_ids);
	return waiting;
}

static Datum
ids_of(const Waiting &waiting)
{
	auto *ids = allocate<int64>(waiting.count);
	for (int i = 0; i < waiting.count; i++)
		ids[i] = waiting.jobs[i].id;
	return bigint_array(ids, waiting.count);
}

// A job may be among them several times, as keys of unequal values may be equal.
static void
set_state(const Waiting &waiting, int64 id, State state)
{
	const WaitingJob key{id, nullptr};
	auto *job = static_cast<WaitingJob *>(
		bsearch(&key, waiting.jobs, waiting.count, sizeof(WaitingJob), compare_ids));
	if (job == nullptr)
		return;
	while (job > waiting.jobs && job[-1].id == id)
		job--;
	for (; job < waiting.jobs + waiting.count && job->id == id; job++)
		job->found->state = state;
}

// Needs SPI open.
static void
run_find_expired(Definition *definition, const Waiting &waiting)
{
	Arguments arguments(GetCurrentTimestamp());
	arguments.set(Parameter::ids, ids_of(waiting));
	const Statement &statement = definition::prepared_of(
		definition, kept_for_unique(definition, UniqueStatement::find_expired),
		[&] { return expired_text(definition); });
	statement::run_newest(statement, arguments);
	for (uint64 i = 0; i < SPI_tuptable->numvals; i++) {
		bool is_null;
		const Datum id = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &is_null);
		set_state(waiting, DatumGetInt64(id), state_of_expired(definition));
	}
	SPI_freetuptable(SPI_tuptable);
}

// Gives the jobs that have expired their state. The owner of the table says which those are if the caller may not read it,
// and that runs no code of users; else they wait until they are ended.
static void
find_expired(Definition *definition, Found *found, int count)
{
	if (!may_expire(definition) || !definition::has_expires_at(definition->source))
		return;
	const Waiting waiting = waiting_of(found, count);
	if (waiting.count == 0)
		return;
	if (may_read_expiry(definition))
		run_find_expired(definition, waiting);
	else if (claim::may_run_as_owner(definition->source, 0))
		claim::as_owner_for_other(definition->source, [&] {
			statement::with_spi([&] { run_find_expired(definition, waiting); });
		});
}

void
find_jobs(Definition *definition, const Criteria &criteria, const JobKey *keys, int count,
		  Found *found)
{
	if (may_read_at_once(definition)) {
		read_at_once(definition, criteria, keys, count, found);
		return;
	}
	read_by_statement(definition, criteria, keys, count, found);
	find_expired(definition, found, count);
}

} // namespace queue_ext::unique
