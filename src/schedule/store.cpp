// store.cpp - see store.hpp.

#include "../postgres.hpp"

#include "store.hpp"

#include "../catalog/own_table.hpp"
#include "../definition/registry.hpp"
#include "../error.hpp"
#include "../row/own_row.hpp"

namespace queue_ext::schedule {

using row::close_newest;
using row::lock_row;
using row::NewestScan;
using row::next_row;
using row::open_newest;
using row::restart;
using row::RowValues;

namespace {

// The numbers of the table's columns, in the order of schedule.sql.
enum Column : AttrNumber {
	column_source = 1,
	column_name,
	column_every,
	column_cron,
	column_time_zone,
	column_missed,
	column_payload,
	column_priority,
	column_max_attempts,
	column_kind,
	column_starts_at,
	column_next_run_at,
	column_job,
	column_last_claimed_at,
	column_created_at,
	column_count = column_created_at,
};

} // namespace

// What check_columns() expects. The table of a newer version may have more.
static constexpr catalog::OwnColumn columns[] = {
	{"source", REGCLASSOID, true},
	{"name", TEXTOID, true},
	{"every", INTERVALOID, false},
	{"cron", TEXTOID, false},
	{"time_zone", TEXTOID, true},
	{"missed", TEXTOID, true},
	{"payload", JSONBOID, true},
	{"priority", INT2OID, true},
	{"max_attempts", INT4OID, false},
	{"kind", TEXTOID, false},
	{"starts_at", TIMESTAMPTZOID, false},
	{"next_run_at", TIMESTAMPTZOID, true},
	{"job", INT8OID, false},
	{"last_claimed_at", TIMESTAMPTZOID, false},
	{"created_at", TIMESTAMPTZOID, true},
};
static_assert(lengthof(columns) == column_count);

static constexpr const char *table_name = "queue_schedule_definition";

static constexpr struct
{
	Missed missed;
	const char *name;
} rules[] = {{Missed::once, "once"}, {Missed::skip, "skip"}, {Missed::all, "all"}};

Missed
missed_of(const char *name)
{
	for (const auto &rule : rules)
		if (strcmp(rule.name, name) == 0)
			return rule.missed;
	error::unknown_missed(name);
}

static const char *
name_of(Missed missed)
{
	for (const auto &rule : rules)
		if (rule.missed == missed)
			return rule.name;
	pg_unreachable();
}

bool
lock_schedules_of(Oid source, bool may_wait)
{
	const Oid table = catalog::own_relation(table_name);
	if (!may_wait)
		return ConditionalLockDatabaseObject(table, source, 0, ExclusiveLock);
	LockDatabaseObject(table, source, 0, ExclusiveLock);
	return true;
}

// The extension may be of a version without schedules.
static bool
is_table_there()
{
	return OidIsValid(get_relname_relid(table_name, get_rel_namespace(catalog::registry_oid())));
}

// Raises 55000 unless the table has the library's columns.
static NewestScan
open_schedules(LOCKMODE lock, const char *index, int key_count)
{
	const NewestScan scan = open_newest(catalog::own_relation(table_name), lock,
										catalog::own_relation(index), key_count);
	catalog::check_columns(scan.table, columns, lengthof(columns));
	return scan;
}

static constexpr const char *by_name = "queue_schedule_definition_pkey";
static constexpr const char *by_time = "queue_schedule_definition_next_idx";
static constexpr const char *by_job = "queue_schedule_definition_job_idx";

// The key of the first column of all indexes.
static void
set_source(ScanKey key, Oid source)
{
	ScanKeyInit(key, 1, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(source));
}

// Puts the scan on the row of that name. False if there is none.
static bool
find_row(const NewestScan &scan, Oid source, const char *name)
{
	ScanKeyData keys[2];
	set_source(&keys[0], source);
	ScanKeyInit(&keys[1], 2, BTEqualStrategyNumber, F_TEXTEQ,
				PointerGetDatum(cstring_to_text(name)));
	keys[1].sk_collation = C_COLLATION_OID;
	restart(scan, keys, 2);
	return next_row(scan);
}

static Schedule *
read_row(TupleTableSlot *row)
{
	const auto value = [&](Column column, bool *is_null) {
		return slot_getattr(row, column, is_null);
	};
	bool is_null;
	const auto string = [&](Column column) -> const char * {
		const Datum string = value(column, &is_null);
		return is_null ? nullptr : TextDatumGetCString(string);
	};
	auto *schedule = static_cast<Schedule *>(palloc0(sizeof(Schedule)));
	schedule->source = DatumGetObjectId(value(column_source, &is_null));
	schedule->name = string(column_name);
	const Datum every = value(column_every, &is_null);
	if (!is_null) {
		auto *copy = static_cast<Interval *>(palloc(sizeof(Interval)));
		*copy = *DatumGetIntervalP(every);
		schedule->timing.every = copy;
	}
	schedule->timing.cron = string(column_cron);
	schedule->timing.time_zone = string(column_time_zone);
	schedule->timing.missed = missed_of(string(column_missed));
	schedule->payload = PointerGetDatum(DatumGetJsonbPCopy(value(column_payload, &is_null)));
	schedule->priority = DatumGetInt16(value(column_priority, &is_null));
	const Datum max_attempts = value(column_max_attempts, &is_null);
	schedule->max_attempts = is_null ? 0 : DatumGetInt32(max_attempts);
	schedule->kind = string(column_kind);
	const Datum starts_at = value(column_starts_at, &is_null);
	if (!is_null) {
		auto *copy = static_cast<TimestampTz *>(palloc(sizeof(TimestampTz)));
		*copy = DatumGetTimestampTz(starts_at);
		schedule->starts_at = copy;
	}
	schedule->next_run_at = DatumGetTimestampTz(value(column_next_run_at, &is_null));
	const Datum job = value(column_job, &is_null);
	schedule->job = is_null ? 0 : DatumGetInt64(job);
	return schedule;
}

bool
has_schedules(Oid source)
{
	if (!is_table_there())
		return false;
	const NewestScan scan = open_schedules(AccessShareLock, by_name, 1);
	ScanKeyData key;
	set_source(&key, source);
	restart(scan, &key, 1);
	const bool is_any = next_row(scan);
	const Oid index = RelationGetRelid(scan.index);
	const Oid table = RelationGetRelid(scan.table);
	close_newest(scan);
	// Each session asks for each queue, if only once.
	UnlockRelationOid(index, AccessShareLock);
	UnlockRelationOid(table, AccessShareLock);
	return is_any;
}

Schedule *
find_schedule(Oid source, const char *name)
{
	const NewestScan scan = open_schedules(AccessShareLock, by_name, 2);
	Schedule *schedule = find_row(scan, source, name) ? read_row(scan.row) : nullptr;
	close_newest(scan);
	return schedule;
}

List *
find_schedules_of_job(Oid source, int64 job)
{
	List *schedules = NIL;
	const NewestScan scan = open_schedules(AccessShareLock, by_job, 2);
	ScanKeyData keys[2];
	set_source(&keys[0], source);
	ScanKeyInit(&keys[1], 2, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(job));
	restart(scan, keys, 2);
	while (next_row(scan))
		schedules = lappend(schedules, read_row(scan.row));
	close_newest(scan);
	return schedules;
}

Schedule *
lock_schedule(Oid source, const char *name, bool may_wait)
{
	if (!is_table_there())
		return nullptr;
	const NewestScan scan = open_schedules(RowExclusiveLock, by_name, 2);
	Schedule *schedule =
		find_row(scan, source, name) && lock_row(scan, may_wait) ? read_row(scan.row) : nullptr;
	close_newest(scan);
	return schedule;
}

static bool
is_job_of_row(TupleTableSlot *row, int64 job)
{
	bool is_null;
	const Datum value = slot_getattr(row, column_job, &is_null);
	return !is_null && DatumGetInt64(value) == job;
}

// It looks again after the lock, for which it may have waited.
Schedule *
lock_schedule_of_job(Oid source, const char *name, int64 job)
{
	if (!is_table_there())
		return nullptr;
	const NewestScan scan = open_schedules(RowExclusiveLock, by_name, 2);
	const bool is_it = find_row(scan, source, name) && is_job_of_row(scan.row, job) &&
					   lock_row(scan, true) && is_job_of_row(scan.row, job);
	Schedule *schedule = is_it ? read_row(scan.row) : nullptr;
	close_newest(scan);
	return schedule;
}

List *
find_overdue(Oid source, TimestampTz now, int skipped, int most, TimestampTz *next)
{
	List *overdue = NIL;
	const NewestScan scan = open_schedules(AccessShareLock, by_time, 1);
	ScanKeyData key;
	set_source(&key, source);
	restart(scan, &key, 1);
	*next = PG_INT64_MAX;
	while (list_length(overdue) < most && next_row(scan)) {
		bool is_null;
		const TimestampTz planned =
			DatumGetTimestampTz(slot_getattr(scan.row, column_next_run_at, &is_null));
		if (planned > now) {
			*next = planned;
			break;
		}
		if (skipped-- <= 0)
			overdue = lappend(overdue, read_row(scan.row));
	}
	close_newest(scan);
	return overdue;
}

static void
set_moment(const RowValues &row, const Schedule &schedule)
{
	row.set(column_next_run_at, TimestampTzGetDatum(schedule.next_run_at));
	row.set(column_job, Int64GetDatum(schedule.job), schedule.job == 0);
}

static void
set_all(const RowValues &row, const Schedule &schedule)
{
	const Timing &timing = schedule.timing;
	row.set(column_every, timing.every);
	row.set(column_cron, timing.cron);
	row.set(column_time_zone, timing.time_zone);
	row.set(column_missed, name_of(timing.missed));
	row.set(column_payload, schedule.payload);
	row.set(column_priority, Int16GetDatum(schedule.priority));
	row.set(column_max_attempts, Int32GetDatum(schedule.max_attempts), schedule.max_attempts == 0);
	row.set(column_kind, schedule.kind);
	row.set(column_starts_at,
			schedule.starts_at == nullptr ? 0 : TimestampTzGetDatum(*schedule.starts_at),
			schedule.starts_at == nullptr);
	set_moment(row, schedule);
}

static void
update_row(const NewestScan &scan, const RowValues &row)
{
	bool should_free;
	update_own_row(scan.table, ExecFetchSlotHeapTuple(scan.row, true, &should_free), row);
}

void
write_schedule(const Schedule &schedule)
{
	const NewestScan scan = open_schedules(RowExclusiveLock, by_name, 2);
	const RowValues row(scan.table);
	set_all(row, schedule);
	if (find_row(scan, schedule.source, schedule.name)) {
		if (lock_row(scan, true))
			update_row(scan, row);
	} else {
		row.set(column_source, ObjectIdGetDatum(schedule.source));
		row.set(column_name, schedule.name);
		row.set(column_created_at, TimestampTzGetDatum(GetCurrentTimestamp()));
		insert_own_row(scan.table, row);
	}
	close_newest(scan);
	CommandCounterIncrement();
}

void
advance_schedule(const Schedule &schedule, const TimestampTz *last_claimed_at)
{
	const NewestScan scan = open_schedules(RowExclusiveLock, by_name, 2);
	const RowValues row(scan.table);
	set_moment(row, schedule);
	if (last_claimed_at != nullptr)
		row.set(column_last_claimed_at, TimestampTzGetDatum(*last_claimed_at));
	if (find_row(scan, schedule.source, schedule.name))
		update_row(scan, row);
	close_newest(scan);
	CommandCounterIncrement();
}

void
delete_schedule(const Schedule &schedule)
{
	const NewestScan scan = open_schedules(RowExclusiveLock, by_name, 2);
	if (find_row(scan, schedule.source, schedule.name))
		CatalogTupleDelete(scan.table, &scan.row->tts_tid);
	close_newest(scan);
	CommandCounterIncrement();
}

void
forget_schedules_of(Oid source)
{
	if (!is_table_there())
		return;
	const NewestScan scan = open_schedules(RowExclusiveLock, by_name, 1);
	ScanKeyData key;
	set_source(&key, source);
	restart(scan, &key, 1);
	while (next_row(scan))
		if (lock_row(scan, true))
			CatalogTupleDelete(scan.table, &scan.row->tts_tid);
	close_newest(scan);
	CommandCounterIncrement();
}

// The lowest OID of a table, above source, that has schedules; InvalidOid if there is none.
static Oid
next_source(Oid source)
{
	const NewestScan scan = open_schedules(AccessShareLock, by_name, 1);
	ScanKeyData key;
	ScanKeyInit(&key, 1, BTGreaterStrategyNumber, F_OIDGT, ObjectIdGetDatum(source));
	restart(scan, &key, 1);
	bool is_null;
	const Oid next = next_row(scan)
						 ? DatumGetObjectId(slot_getattr(scan.row, column_source, &is_null))
						 : InvalidOid;
	close_newest(scan);
	return next;
}

void
forget_schedules_of_dropped()
{
	if (!is_table_there())
		return;
	for (Oid source = InvalidOid; OidIsValid(source = next_source(source));)
		if (definition::is_dropped(source))
			forget_schedules_of(source);
}

} // namespace queue_ext::schedule
