// store.hpp - the table queue_schedule_definition: one row for each schedule.
//
// Invariant: "job" is the occurrence that no worker has taken yet, planned for next_run_at, if its
// row is still there. Who changes these two has the schedule's row locked; and before that has
// deleted or claimed the job, or has lock_schedules_of(), by which those that change a schedule or
// replace a lost job exclude each other. So locks are always taken in the order: schedules of the
// queue, job, row of the schedule.
//
// The table is read and written without the executor and without privilege checks; the caller's
// privileges on the queue's table must have been checked before. Rows are read as they are committed
// now, whatever the transaction's snapshot.

#pragma once

#include "../postgres.hpp"

#include "moment.hpp"

namespace queue_ext::schedule {

// A row. Strings and values are in the context that was current when it was read.
struct Schedule
{
	Oid source;
	const char *name;
	Timing timing;
	Datum payload; // jsonb
	int16 priority;
	int32 max_attempts;           // 0: the queue's
	const char *kind;             // null: none
	const TimestampTz *starts_at; // null: none
	TimestampTz next_run_at;
	int64 job; // 0: none
};

// The rule of that name. Raises 22023 if there is none.
Missed missed_of(const char *name);

// Locks the schedules of the queue's table against others that change them, until the end of the
// transaction; true if it has them. Does not wait if may_wait is false.
bool lock_schedules_of(Oid source, bool may_wait);

// Whether the table has schedules. False also where the extension is of a version without them.
bool has_schedules(Oid source);

// The schedule; null if there is none.
Schedule *find_schedule(Oid source, const char *name);

// Those that have noted that job: more than one where an ID came again. List of Schedule *.
List *find_schedules_of_job(Oid source, int64 job);

// The schedule of that name; locks its row until the end of the transaction. Null if there is none; and
// if may_wait is false, and another transaction has it locked.
Schedule *lock_schedule(Oid source, const char *name, bool may_wait);

// The schedule of that name, if that is its job; locks its row until the end of the transaction, for which
// it may wait. Else null, and without a lock, unless the job has changed during the wait: a job that is
// not, or no longer, the schedule's never becomes it.
Schedule *lock_schedule_of_job(Oid source, const char *name, int64 job);

// Schedules whose next_run_at is not after now, at most "most" of them, without the first "skipped".
// List of Schedule *. *next: the first next_run_at after now; the highest timestamp if there is none.
List *find_overdue(Oid source, TimestampTz now, int skipped, int most, TimestampTz *next);

// Writes the schedule: changes its row, or adds one. The schedules of the table must be locked.
void write_schedule(const Schedule &schedule);

// Writes next_run_at and job, and last_claimed_at if it is not null. The row must be locked.
void advance_schedule(const Schedule &schedule, const TimestampTz *last_claimed_at);

// Deletes the schedule. The row must be locked.
void delete_schedule(const Schedule &schedule);

// Deletes all schedules of the table, or those of dropped tables. Waits for transactions that have
// locked one.
void forget_schedules_of(Oid source);
void forget_schedules_of_dropped();

} // namespace queue_ext::schedule
