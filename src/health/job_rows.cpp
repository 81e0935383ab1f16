// job_rows.cpp - see job_rows.hpp.

#include "../postgres.hpp"

#include "job_rows.hpp"

#include "../catalog/column.hpp"
#include "../catalog/indexes.hpp"
#include "../claim/expiry_rule.hpp"
#include "../definition/queue_indexes.hpp"
#include "../definition/shape.hpp"
#include "../row/index_scan.hpp"

namespace queue_ext::health {

using catalog::find_column;

bool
find_job_columns(Relation table, JobColumns *columns)
{
	*columns = {
		find_column(table, "id", INT8OID),
		find_column(table, "run_at", TIMESTAMPTZOID),
		find_column(table, "leased_until", TIMESTAMPTZOID),
		find_column(table, "dead_at", TIMESTAMPTZOID),
		find_column(table, "priority", INT2OID),
		find_column(table, "created_at", TIMESTAMPTZOID),
		find_column(table, "attempt", INT4OID),
		find_column(table, "origin", JSONBOID),
		find_column(table, "expires_at", TIMESTAMPTZOID),
		find_column(table, "released", INT4OID),
		find_column(table, "unique_key", TEXTOID),
	};
	return columns->id > 0 && columns->run_at > 0 && columns->leased_until > 0 &&
		   columns->dead_at > 0 && columns->priority > 0 && columns->created_at > 0 &&
		   columns->attempt > 0;
}

// Whether the index's first keys are these columns. Reads its row in pg_index: opening an index
// that a session has not used yet takes much longer.
static bool
has_keys(Oid index, const AttrNumber *keys, int count)
{
	HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	if (!HeapTupleIsValid(tuple))
		return false;
	const auto *form = reinterpret_cast<Form_pg_index>(GETSTRUCT(tuple));
	bool is_it = form->indisvalid && form->indnkeyatts == count;
	for (int i = 0; i < count && is_it; i++)
		is_it = form->indkey.values[i] == keys[i];
	ReleaseSysCache(tuple);
	return is_it;
}

// Whether it is a B-tree that PostgreSQL's own functions compare, ascending: another's could be
// anybody's code.
static bool
is_trusted(Relation index)
{
	if (index->rd_rel->relam != BTREE_AM_OID)
		return false;
	for (int i = 0; i < index->rd_index->indnkeyatts; i++)
		if (index->rd_opfamily[i] >= FirstNormalObjectId || index->rd_indoption[i] != 0)
			return false;
	return true;
}

// Calls accept() with the stored predicate of the index, or null, if it has these keys; returns the index
// if it is accepted. A simplified predicate would be matched more often, but by code of the owner's. One that
// is locked is there, and visit_entries() does not read it.
template <typename Accept>
static Oid
accepted(Oid oid, const AttrNumber *keys, int count, Accept &&accept)
{
	if (!has_keys(oid, keys, count))
		return InvalidOid;
	bool is_it = true;
	with_unlocked(oid, RELKIND_INDEX, [&](Relation index) {
		is_it = is_trusted(index) && accept(catalog::stored_predicate(oid));
	});
	return is_it ? oid : InvalidOid;
}

Oid
find_id_index(Relation table, AttrNumber *column)
{
	*column = find_column(table, "id", INT8OID);
	list_free(RelationGetIndexList(table)); // sets rd_pkindex
	if (*column == InvalidAttrNumber || !OidIsValid(table->rd_pkindex))
		return InvalidOid;
	const AttrNumber keys[] = {*column, find_column(table, "slot", INT2OID)};
	const int count = keys[1] == InvalidAttrNumber ? 1 : lengthof(keys);
	for (int length = 1; length <= count; length++) {
		const Oid index =
			accepted(table->rd_pkindex, keys, length, [](const Node *) { return true; });
		if (OidIsValid(index))
			return index;
	}
	return InvalidOid;
}

JobIndexes
find_job_indexes(Relation table, const JobColumns &columns)
{
	const AttrNumber order[] = {columns.priority, columns.run_at, columns.id};
	const AttrNumber expiries[] = {columns.expires_at, columns.id};
	JobIndexes found{};
	List *indexes = RelationGetIndexList(table);
	ListCell *cell;
	foreach (cell, indexes) {
		const Oid index = lfirst_oid(cell);
		if (!OidIsValid(found.claim))
			found.claim = accepted(index, order, lengthof(order), [&](const Node *predicate) {
				return definition::is_null_test(predicate, columns.dead_at, IS_NULL);
			});
		if (!OidIsValid(found.dead))
			found.dead = accepted(index, &columns.dead_at, 1, [&](const Node *predicate) {
				return definition::is_null_test(predicate, columns.dead_at, IS_NOT_NULL);
			});
		if (!OidIsValid(found.expiry) && columns.expires_at > 0)
			found.expiry = accepted(index, expiries, lengthof(expiries), [&](Node *predicate) {
				return definition::are_null_tests(
					make_ands_implicit(reinterpret_cast<Expr *>(predicate)), columns.expires_at,
					IS_NOT_NULL, columns.dead_at);
			});
	}
	list_free(indexes);
	return found;
}

// Calls visit(slot) for the rows of the first entries of the index, until it returns false. Returns
// how many entries were left to read; 0 if the index is locked, or was and is not trusted.
template <typename Visit>
static int
visit_entries(Relation table, Oid oid, ScanDirection direction, ScanKey keys, int key_count,
			  int most, Visit &&visit)
{
	int left = 0;
	with_unlocked(oid, RELKIND_INDEX, [&](Relation index) {
		if (!is_trusted(index))
			return;
		Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
		const row::IndexScan scan = row::begin_scan(table, index, snapshot, key_count);
		restart(scan, keys, key_count);
		left = most;
		while (left > 0 && next_entry(scan, direction)) {
			left--;
			if (fetch_row(scan) && !visit(scan.row))
				break;
		}
		end_scan(scan);
		UnregisterSnapshot(snapshot);
	});
	return left;
}

// A null is before all times.
static TimestampTz
time_of(TupleTableSlot *slot, AttrNumber column)
{
	bool is_null;
	const Datum value = slot_getattr(slot, column, &is_null);
	return is_null ? DT_NOBEGIN : DatumGetTimestampTz(value);
}

// When the job of that row was made; now, if the row does not tell.
static TimestampTz
made_time(TupleTableSlot *slot, const JobColumns &columns, TimestampTz now)
{
	const TimestampTz made_at = time_of(slot, columns.created_at);
	return TIMESTAMP_NOT_FINITE(made_at) ? now : Min(made_at, now);
}

static void
add_job(HeadJobs *head, TupleTableSlot *slot, const JobColumns &columns, TimestampTz now)
{
	const TimestampTz ready_at =
		Max(time_of(slot, columns.run_at), time_of(slot, columns.leased_until));
	if (ready_at > now)
		return;
	if (head->oldest_at == DT_NOEND)
		head->has_origin = columns.origin > 0 && !slot_attisnull(slot, columns.origin);
	const TimestampTz made_at = made_time(slot, columns, now);
	head->oldest_at = Min(head->oldest_at, TIMESTAMP_IS_NOBEGIN(ready_at) ? made_at : ready_at);
	head->there_at = Min(head->there_at, Max(ready_at, made_at));
}

HeadJobs
read_head(Relation table, Oid index, const JobColumns &columns, TimestampTz now)
{
	HeadJobs head{};
	head.oldest_at = DT_NOEND;
	head.there_at = DT_NOEND;
	const int left = visit_entries(table, index, ForwardScanDirection, nullptr, 0, most_entries,
								   [&](TupleTableSlot *slot) {
									   add_job(&head, slot, columns, now);
									   return true;
								   });
	head.is_all = left > 0;
	return head;
}

// From the last backwards.
DeadJobs
read_dead(Relation table, Oid index, const JobColumns &columns, TimestampTz now)
{
	ScanKeyData until_now;
	ScanKeyInit(&until_now, 1, BTLessEqualStrategyNumber, F_TIMESTAMPTZ_LE,
				TimestampTzGetDatum(now));
	DeadJobs jobs{};
	const int left =
		visit_entries(table, index, BackwardScanDirection, &until_now, 1, most_entries,
					  [&](TupleTableSlot *slot) {
						  if (jobs.dead == 0)
							  jobs.last_at = time_of(slot, columns.dead_at);
						  jobs.dead++;
						  jobs.by_lease +=
							  time_of(slot, columns.leased_until) == DT_NOBEGIN ? 0 : 1;
						  return true;
					  });
	jobs.is_more = left == 0;
	return jobs;
}

TimestampTz
oldest_time(Relation table, Oid index, AttrNumber column)
{
	TimestampTz first = DT_NOEND;
	visit_entries(table, index, ForwardScanDirection, nullptr, 0, most_entries,
				  [&](TupleTableSlot *slot) {
					  first = time_of(slot, column);
					  return false;
				  });
	return first;
}

// Whether the index has the job though it will not be ended: a worker has it, or it does not expire.
static bool
is_to_stay(TupleTableSlot *slot, const JobColumns &columns, TimestampTz now)
{
	return time_of(slot, columns.leased_until) > now ||
		   claim::expiry_of(
			   {columns.expires_at, columns.attempt, columns.released, columns.unique_key}, slot) ==
			   DT_NOEND;
}

TimestampTz
oldest_expired(Relation table, Oid index, const JobColumns &columns, TimestampTz now)
{
	ScanKeyData until_now;
	ScanKeyInit(&until_now, 1, BTLessEqualStrategyNumber, F_TIMESTAMPTZ_LE,
				TimestampTzGetDatum(now));
	TimestampTz oldest = DT_NOEND;
	int left = most_entries;
	visit_entries(table, index, ForwardScanDirection, &until_now, 1, most_entries_of_expiry,
				  [&](TupleTableSlot *slot) {
					  if (is_to_stay(slot, columns, now))
						  return true;
					  oldest = Min(oldest, Max(time_of(slot, columns.expires_at),
											   made_time(slot, columns, now)));
					  return --left > 0;
				  });
	return oldest;
}

TimestampTz
oldest_finished(Relation archive)
{
	const AttrNumber finished_at = find_column(archive, "finished_at", TIMESTAMPTZOID);
	if (finished_at == InvalidAttrNumber)
		return DT_NOEND;
	Oid found = InvalidOid;
	List *indexes = RelationGetIndexList(archive);
	ListCell *cell;
	foreach (cell, indexes)
		if (!OidIsValid(found))
			found = accepted(lfirst_oid(cell), &finished_at, 1,
							 [](const Node *predicate) { return predicate == nullptr; });
	list_free(indexes);
	AttrNumber id;
	if (!OidIsValid(found))
		found = find_id_index(archive, &id);
	return OidIsValid(found) ? oldest_time(archive, found, finished_at) : DT_NOEND;
}

// Few entries: a dead one may be in front of it.
int64
greatest_id(Relation table, Oid index, AttrNumber column)
{
	constexpr int few = 2;
	int64 greatest = 0;
	visit_entries(table, index, BackwardScanDirection, nullptr, 0, few, [&](TupleTableSlot *slot) {
		bool is_null;
		const Datum id = slot_getattr(slot, column, &is_null);
		greatest = is_null ? 0 : DatumGetInt64(id);
		return false;
	});
	return greatest;
}

} // namespace queue_ext::health
