// history.cpp - see history.hpp.

#include "../postgres.hpp"

#include "history.hpp"

#include "../catalog/column.hpp"
#include "../catalog/own_table.hpp"
#include "../definition/registry.hpp"
#include "../row/newest.hpp"
#include "../row/own_row.hpp"
#include "shard_bucket.hpp"

namespace queue_ext::unique {

using row::close_newest;
using row::NewestScan;
using row::next_row;
using row::open_newest;
using row::restart;

namespace {

// The numbers of the table's columns, in the order of history.sql.
enum Column : AttrNumber {
	column_source = 1,
	column_digest,
	column_job,
	column_expires_at,
	column_count = column_expires_at,
	column_shard_bucket, // not in the table of version 0.1
};

} // namespace

// What check_columns() expects. The table of a newer version may have more, as that of this one has.
static constexpr catalog::OwnColumn columns[] = {
	{"source", REGCLASSOID, true},
	{"digest", BYTEAOID, true},
	{"job", INT8OID, true},
	{"expires_at", TIMESTAMPTZOID, true},
};
static_assert(lengthof(columns) == column_count);

// A pass looks at up to pass_length expired rows, or at twice the inserted ones if these are more.
// About every pass_interval inserted rows there is a pass.
constexpr int pass_length = 500;
constexpr int pass_interval = 100;

namespace {

// The OIDs of the table and of its indexes.
struct History
{
	Oid table;
	Oid by_digest;
	Oid by_expiry;
};

} // namespace

// Looked up at each call: dropping and creating the extension again changes the OIDs.
static History
history()
{
	return {catalog::own_relation("queue_unique_job"),
			catalog::own_relation("queue_unique_job_digest_idx"),
			catalog::own_relation("queue_unique_job_expires_at_idx")};
}

// Raises 55000 unless the table has the library's columns.
static NewestScan
open_history(LOCKMODE lock, Oid index, int key_count)
{
	const NewestScan scan = open_newest(history().table, lock, index, key_count);
	catalog::check_columns(scan.table, columns, lengthof(columns));
	return scan;
}

void
recall(Oid source, const Datum *digests, int count, List **jobs)
{
	const NewestScan scan = open_history(AccessShareLock, history().by_digest, 2);
	for (int i = 0; i < count; i++) {
		CHECK_FOR_INTERRUPTS();
		ScanKeyData keys[2];
		ScanKeyInit(&keys[0], 1, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(source));
		ScanKeyInit(&keys[1], 2, BTEqualStrategyNumber, F_BYTEAEQ, digests[i]);
		restart(scan, keys, 2);
		while (next_row(scan)) {
			bool is_null;
			auto *job = static_cast<int64 *>(palloc(sizeof(int64)));
			*job = DatumGetInt64(slot_getattr(scan.row, column_job, &is_null));
			jobs[i] = lappend(jobs[i], job);
		}
	}
	close_newest(scan);
}

// False if another transaction has locked or deleted the row; does not wait for it.
static bool
remove_row(const NewestScan &scan)
{
	TM_FailureData failure;
	return compat::delete_tuple(scan.table, &scan.row->tts_tid, GetCurrentCommandId(true),
								InvalidSnapshot, false, &failure) == TM_Ok;
}

// Deletes matching rows in the order of the index, looking at no more than most of them; returns
// how many it deleted.
static int64
remove_rows(Oid index, ScanKey key, int64 most)
{
	const NewestScan scan = open_history(RowExclusiveLock, index, 1);
	restart(scan, key, 1);
	int64 removed = 0;
	for (int64 i = 0; i < most && next_row(scan); i++)
		removed += remove_row(scan);
	close_newest(scan);
	CommandCounterIncrement();
	return removed;
}

// Compares with the wall clock, as expiry_of() (job_insert.cpp) does.
static int64
remove_expired(int64 most)
{
	ScanKeyData key;
	ScanKeyInit(&key, 1, BTLessEqualStrategyNumber, F_TIMESTAMPTZ_LE,
				TimestampTzGetDatum(GetCurrentTimestamp()));
	return remove_rows(history().by_expiry, &key, most);
}

// Whether a pass follows after so many inserted rows: below pass_interval by chance, in proportion.
static bool
is_pass_due(int added)
{
	return added >= pass_interval ||
		   pg_prng_uint64_range(&pg_global_prng_state, 1, pass_interval) <=
			   static_cast<uint64>(added);
}

static bool
has_shard_bucket(Relation table)
{
	return catalog::find_column(table, "shard_bucket", INT2OID) == column_shard_bucket;
}

void
remember(Oid source, const Datum *digests, const int64 *jobs, const int16 *buckets, int count,
		 TimestampTz expires_at)
{
	Relation table = table_open(history().table, RowExclusiveLock);
	catalog::check_columns(table, columns, lengthof(columns));
	row::Target target = row::open_target(table);
	TupleTableSlot *row = table_slot_create(table, nullptr);
	const row::RowValues values(table);
	// The table of a newer version may have more columns, which are left null.
	for (int column = column_count + 1; column <= values.width; column++)
		values.set(static_cast<AttrNumber>(column), 0, true);
	values.set(column_source, ObjectIdGetDatum(source));
	values.set(column_expires_at, TimestampTzGetDatum(expires_at));
	const bool with_bucket = has_shard_bucket(table);
	for (int i = 0; i < count; i++) {
		CHECK_FOR_INTERRUPTS();
		if (with_bucket)
			values.set(column_shard_bucket, Int16GetDatum(buckets[i]),
					   buckets[i] == no_shard_bucket);
		values.set(column_digest, digests[i]);
		values.set(column_job, Int64GetDatum(jobs[i]));
		row::insert_own_row(&target, row, values);
	}
	ExecDropSingleTupleTableSlot(row);
	row::close_target(&target);
	table_close(table, NoLock);
	CommandCounterIncrement();
	if (is_pass_due(count))
		(void) remove_expired(Max(pass_length, 2 * static_cast<int64>(count)));
}

int64
forget_expired()
{
	return remove_expired(PG_INT64_MAX);
}

int64
forget_all(Oid source)
{
	ScanKeyData key;
	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(source));
	return remove_rows(history().by_digest, &key, PG_INT64_MAX);
}

// Returns the lowest OID of a table, above source, that has rows here; InvalidOid if there is none.
static Oid
next_source(Oid source)
{
	ScanKeyData key;
	ScanKeyInit(&key, 1, BTGreaterStrategyNumber, F_OIDGT, ObjectIdGetDatum(source));
	const NewestScan scan = open_history(AccessShareLock, history().by_digest, 1);
	restart(scan, &key, 1);
	Oid next = InvalidOid;
	bool is_null;
	if (next_row(scan))
		next = DatumGetObjectId(slot_getattr(scan.row, column_source, &is_null));
	close_newest(scan);
	return next;
}

// Visits each distinct table once, by a new index scan behind the last one.
void
forget_dropped()
{
	for (Oid source = InvalidOid; OidIsValid(source = next_source(source));)
		if (definition::is_dropped(source))
			forget_all(source);
}

} // namespace queue_ext::unique
