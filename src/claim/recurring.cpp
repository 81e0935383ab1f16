// recurring.cpp - see recurring.hpp.

#include "../postgres.hpp"

#include "recurring.hpp"

#include "../array.hpp"
#include "../catalog/column.hpp"
#include "../catalog/owner.hpp"
#include "../definition/shape.hpp"
#include "../schedule/occurrence.hpp"
#include "../stats/transaction_counters.hpp"
#include "../wake/written.hpp"
#include "as_owner.hpp"
#include "claims_kept.hpp"
#include "given_back.hpp"

namespace queue_ext::claim {

using catalog::find_column;
using definition::Definition;
using schedule::Schedule;
using schedule::is_occurrence;
using schedule::occurrence_prefix;
using statement::Arguments;
using statement::Parameter;
using statement::Statement;
using wake::at_once;

namespace {

// An occurrence that was claimed.
struct Occurrence
{
	const char *schedule; // the name
	int64 id;
	bool is_dropped;
};

} // namespace

static const char *
name_in(Datum unique_key)
{
	return TextDatumGetCString(unique_key) + strlen(occurrence_prefix);
}

static const char *
key_of(const Schedule &schedule)
{
	return psprintf("%s%s", occurrence_prefix, schedule.name);
}

bool
take_occurrence(const Definition *definition, Occurrences *occurrences, Datum unique_key, int64 id)
{
	MemoryContext old = MemoryContextSwitchTo(occurrences->context);
	auto *taken = static_cast<Occurrence *>(palloc(sizeof(Occurrence)));
	*taken = {name_in(unique_key), id, false};
	const Schedule *schedule =
		schedule::lock_schedule_of_job(definition->source, taken->schedule, id);
	if (schedule != nullptr) {
		taken->is_dropped =
			schedule::is_left_out(schedule->timing, schedule->next_run_at, GetCurrentTimestamp());
		occurrences->taken = lappend(occurrences->taken, taken);
	}
	MemoryContextSwitchTo(old);
	return !taken->is_dropped;
}

uint64
take_occurrences(const Definition *definition, Occurrences *occurrences, uint64 count)
{
	if (!definition->is_managed || occurrences == nullptr || count == 0)
		return count;
	// A function that is called meanwhile may change SPI_tuptable.
	const SPITupleTable *rows = SPI_tuptable;
	const int key_column = find_column(rows->tupdesc, "unique_key", TEXTOID);
	const int attempt_column = find_column(rows->tupdesc, "attempt", INT4OID);
	const int id_column = find_column(rows->tupdesc, "id", INT8OID);
	if (key_column == 0 || attempt_column == 0 || id_column == 0)
		return count;
	uint64 left = 0;
	for (uint64 i = 0; i < count; i++) {
		HeapTuple row = rows->vals[i];
		const auto value = [&](int column, bool *is_null) {
			return SPI_getbinval(row, rows->tupdesc, column, is_null);
		};
		bool is_null;
		const Datum key = value(key_column, &is_null);
		bool is_other;
		if (is_null || !is_occurrence(key) ||
			DatumGetInt32(value(attempt_column, &is_other)) != 1 ||
			take_occurrence(definition, occurrences, key,
							DatumGetInt64(value(id_column, &is_other))))
			rows->vals[left++] = row;
	}
	return left;
}

// Runs body, with SPI open, as the owner of the queue's table, or as the caller if that has the rights.
template <typename Body>
static void
as_owner(const Definition *definition, AclMode rights, int events, Body &&body)
{
	const TableAccess access{definition->source, rights, events};
	as_owner(&access, 1, Manner::plain, [&](Runner) { statement::with_spi([&] { body(); }); });
}

// The columns of a job; kind comes last, as the first layout has not got it.
constexpr int job_column_count = 6;
static constexpr Oid job_types[job_column_count] = {JSONBOID, INT2OID, TIMESTAMPTZOID,
													INT4OID,  TEXTOID, TEXTOID};

static const Statement &
send_statement(Definition *definition)
{
	const definition::KeptStatement kept =
		kept_for_claims(definition, ClaimStatement::send_occurrence);
	Statement *statement = kept.statement;
	if (!statement->is_prepared()) {
		const bool has_kind = definition::has_kind(definition->source);
		const char *text =
			psprintf("insert into %s (payload, priority, run_at, max_attempts,"
					 " unique_key%s) values ($1, $2, $3, $4, $5%s) returning id",
					 definition->source_name, has_kind ? ", kind" : "", has_kind ? ", $6" : "");
		statement::prepare(statement, text, job_types, job_column_count, statement::Access::by_key,
						   definition::tables_in(definition, text), {kept.act, definition->name});
		definition::note_growth(definition);
	}
	return *statement;
}

int64
send_occurrence(Definition *definition, const Schedule &schedule)
{
	const Datum values[job_column_count] = {
		schedule.payload,
		Int16GetDatum(schedule.priority),
		TimestampTzGetDatum(schedule.next_run_at),
		Int32GetDatum(schedule.max_attempts == 0 ? definition->max_attempts
												 : schedule.max_attempts),
		CStringGetTextDatum(key_of(schedule)),
		schedule.kind == nullptr ? 0 : CStringGetTextDatum(schedule.kind)};
	const char nulls[] = {' ', ' ', ' ', ' ', ' ', schedule.kind == nullptr ? 'n' : ' ', '\0'};
	int64 id = 0;
	const int64 counted = stats::counted(definition, stats::Counter::sent);
	as_owner(definition, ACL_INSERT | ACL_SELECT, TRIGGER_TYPE_INSERT, [&] {
		if (statement::run(send_statement(definition), values, nulls) == 0)
			return;
		bool is_null;
		id =
			DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));
	});
	count_sent(definition, counted, id != 0);
	note_given_back(definition, 0);
	return id;
}

// Adds the occurrence that the last statement has removed. If this transaction has claimed it, the claim does not
// count. False if its columns do not tell.
static bool
add_removed(stats::Removed *removed, TimestampTz now)
{
	const SPITupleTable *rows = SPI_tuptable;
	const int priority_column = find_column(rows->tupdesc, "priority", INT2OID);
	const int run_at_column = find_column(rows->tupdesc, "run_at", TIMESTAMPTZOID);
	if (priority_column == 0 || run_at_column == 0)
		return false;
	const auto value = [&](int column) {
		bool is_null;
		return SPI_getbinval(rows->vals[0], rows->tupdesc, column, &is_null);
	};
	stats::add_removed(removed, DatumGetInt16(value(priority_column)),
					   {DatumGetTimestampTz(value(run_at_column)), DT_NOBEGIN, DT_NOBEGIN}, now);
	return true;
}

static void
count_removed(Definition *definition, const stats::Removed &removed, bool is_told)
{
	stats::TransactionCounters *counters = stats::counters_of(definition);
	if (counters == nullptr)
		return;
	counters->counts.add(stats::Counter::cancelled, 1);
	counters->is_blind |= !is_told;
	stats::note_removed(counters, removed);
}

// Deletes the occurrence, if the condition holds: by its key, too, as a table that was truncated may give
// its ID to another job. Returns whether it was there.
static bool
remove(Definition *definition, ClaimStatement which, const char *condition,
	   const Schedule &schedule)
{
	const TimestampTz now = GetCurrentTimestamp();
	Arguments arguments(now);
	arguments.set(Parameter::id, Int64GetDatum(schedule.job));
	arguments.set(Parameter::unique_key, CStringGetTextDatum(key_of(schedule)));
	bool is_done = false;
	bool is_told = false;
	stats::Removed removed = stats::none_removed;
	as_owner(definition, ACL_DELETE | ACL_SELECT, TRIGGER_TYPE_DELETE, [&] {
		const Statement &statement =
			prepared_of(definition, kept_for_claims(definition, which), [&] {
				return psprintf("delete from %s as t where t.id operator(pg_catalog.=) %s"
								" and t.unique_key::pg_catalog.text operator(pg_catalog.=) %s%s"
								" returning t.id, t.priority, t.run_at",
								definition->source_name, placeholder(Parameter::id),
								placeholder(Parameter::unique_key), condition);
			});
		is_done = statement::run(statement, arguments) > 0;
		if (is_done)
			is_told = add_removed(&removed, now);
	});
	if (is_done) {
		wake::note_writes(definition->source, at_once);
		count_removed(definition, removed, is_told);
	}
	return is_done;
}

bool
remove_occurrence(Definition *definition, const Schedule &schedule)
{
	return remove(definition, ClaimStatement::remove_occurrence,
				  " and t.attempt operator(pg_catalog.=) 0", schedule);
}

// Whether the job of a row of find_unclaimed() is one that was not lost: no worker has taken it, or this
// transaction has, and will follow it.
static bool
is_kept(HeapTuple row)
{
	bool is_null;
	const auto value = [&](int column) {
		return SPI_getbinval(row, SPI_tuptable->tupdesc, column, &is_null);
	};
	return DatumGetInt32(value(2)) == 0 ||
		   TransactionIdIsCurrentTransactionId(DatumGetTransactionId(value(3)));
}

// The schedule whose occurrence is the job in the row of find_unclaimed(); null if it is another job.
static Schedule *
schedule_of_row(HeapTuple row, const List *schedules)
{
	bool is_null;
	const int64 id = DatumGetInt64(SPI_getbinval(row, SPI_tuptable->tupdesc, 1, &is_null));
	const Datum key = SPI_getbinval(row, SPI_tuptable->tupdesc, 4, &is_null);
	if (is_null || !is_occurrence(key))
		return nullptr;
	ListCell *cell;
	foreach (cell, schedules) {
		auto *schedule = static_cast<Schedule *>(lfirst(cell));
		if (schedule->job == id && strcmp(schedule->name, name_in(key)) == 0)
			return schedule;
	}
	return nullptr;
}

static Datum
jobs_of(const List *schedules)
{
	auto *ids = allocate<int64>(list_length(schedules));
	int count = 0;
	ListCell *cell;
	foreach (cell, schedules)
		ids[count++] = static_cast<const Schedule *>(lfirst(cell))->job;
	return bigint_array(ids, count);
}

// Those of the schedules whose occurrence no other committed transaction has taken or deleted.
static List *
find_unclaimed(Definition *definition, const List *schedules)
{
	List *found = NIL;
	MemoryContext context = CurrentMemoryContext;
	Arguments arguments(GetCurrentTimestamp());
	arguments.set(Parameter::ids, jobs_of(schedules));
	as_owner(definition, ACL_SELECT, 0, [&] {
		const Statement &statement =
			prepared_of(definition, kept_for_claims(definition, ClaimStatement::unclaimed), [&] {
				return psprintf("select t.id, t.attempt, t.xmin, t.unique_key::pg_catalog.text"
								" from %s as t where t.id operator(pg_catalog.=) any (%s)",
								definition->source_name, placeholder(Parameter::ids));
			});
		statement::with_newest(&arguments, [&](Snapshot snapshot) {
			const uint64 count = statement::run_under(snapshot, statement, arguments);
			MemoryContext old = MemoryContextSwitchTo(context);
			for (uint64 i = 0; i < count; i++) {
				CHECK_FOR_INTERRUPTS();
				HeapTuple row = SPI_tuptable->vals[i];
				Schedule *schedule = is_kept(row) ? schedule_of_row(row, schedules) : nullptr;
				if (schedule != nullptr)
					found = list_append_unique_ptr(found, schedule);
			}
			MemoryContextSwitchTo(old);
		});
	});
	return found;
}

bool
has_occurrence(Definition *definition, const Schedule &schedule)
{
	auto *copy = static_cast<Schedule *>(palloc(sizeof(Schedule)));
	*copy = schedule;
	return find_unclaimed(definition, list_make1(copy)) != NIL;
}

// Sends the schedule's job for its next_run_at, and writes both.
static void
send_and_advance(Definition *definition, Schedule *schedule, const TimestampTz *last_claimed_at)
{
	schedule->job = send_occurrence(definition, *schedule);
	schedule::advance_schedule(*schedule, last_claimed_at);
}

// Sends what follows an occurrence that has come to its end now, as far as its schedule goes. A
// function of a trigger may have changed the schedule since it was read, so it is read again.
static void
follow(Definition *definition, const char *name, int64 id, TimestampTz now, bool is_claimed)
{
	Schedule *schedule = schedule::lock_schedule_of_job(definition->source, name, id);
	if (schedule == nullptr)
		return;
	schedule->next_run_at = schedule::next_moment(schedule->timing, schedule->next_run_at, now);
	send_and_advance(definition, schedule, is_claimed ? &now : nullptr);
}

static Schedule
named(const char *name, int64 job)
{
	Schedule schedule{};
	schedule.name = name;
	schedule.job = job;
	return schedule;
}

void
follow_occurrences(Definition *definition, const Occurrences &occurrences)
{
	ListCell *cell;
	foreach (cell, occurrences.taken) {
		CHECK_FOR_INTERRUPTS();
		const auto *taken = static_cast<const Occurrence *>(lfirst(cell));
		const TimestampTz now = GetCurrentTimestamp();
		if (taken->is_dropped)
			(void) remove(definition, ClaimStatement::drop_occurrence, "",
						  named(taken->schedule, taken->id));
		follow(definition, taken->schedule, taken->id, now, !taken->is_dropped);
	}
}

// Whether nobody can be asked which jobs are there: the policies of the table bind its owner, too; or it has code, and
// the caller may not read all of it.
static bool
are_hidden(Oid source)
{
	if (check_enable_rls(source, catalog::owner_of(source), true) == RLS_ENABLED)
		return true;
	return !may_run_as_owner(source, 0) &&
		   (check_enable_rls(source, InvalidOid, true) == RLS_ENABLED ||
			pg_class_aclcheck(source, GetUserId(), ACL_SELECT) != ACLCHECK_OK);
}

// What is hidden is taken for what its ID says.
List *
find_occurrences(Definition *definition, const int64 *ids, int count)
{
	List *found = NIL;
	if (!may_recur(definition))
		return found;
	for (int i = 0; i < count; i++) {
		CHECK_FOR_INTERRUPTS();
		found = list_concat(found, schedule::find_schedules_of_job(definition->source, ids[i]));
	}
	return found == NIL || are_hidden(definition->source) ? found
														  : find_unclaimed(definition, found);
}

void
follow_cancelled(Definition *definition, const List *occurrences, int64 *ids, int count)
{
	if (occurrences == NIL)
		return;
	qsort(ids, count, sizeof(int64), compare_int64);
	ListCell *cell;
	foreach (cell, occurrences) {
		CHECK_FOR_INTERRUPTS();
		const auto *schedule = static_cast<const Schedule *>(lfirst(cell));
		if (bsearch(&schedule->job, ids, count, sizeof(int64), compare_int64) != nullptr)
			follow(definition, schedule->name, schedule->job, GetCurrentTimestamp(), false);
	}
}

// A message about the queue's table comes with its first schedule, and the definition is made anew.
bool
may_recur(Definition *definition)
{
	Recurrence *recurrence = recurrence_of(definition);
	if (!recurrence->is_known) {
		recurrence->has_schedules =
			definition->is_managed && schedule::has_schedules(definition->source);
		recurrence->is_known = true;
		recurrence->next = PG_INT64_MAX;
	}
	return recurrence->has_schedules;
}

// Sends the job of a schedule again that had none when it was read. It may have one by now.
static void
send_again(Definition *definition, const Schedule &seen, TimestampTz now)
{
	Schedule *schedule = schedule::lock_schedule(definition->source, seen.name, false);
	if (schedule == nullptr || schedule->job != seen.job ||
		schedule->next_run_at != seen.next_run_at)
		return;
	if (schedule::is_left_out(schedule->timing, schedule->next_run_at, now))
		schedule->next_run_at = schedule::next_moment(schedule->timing, schedule->next_run_at, now);
	send_and_advance(definition, schedule, nullptr);
	recurrence_of(definition)->sent++;
}

// Schedules whose moment has passed, not all at once: each look goes on where the one before it has
// stopped, so that none takes long where many occurrences wait for workers.
static List *
find_overdue(Definition *definition, TimestampTz now)
{
	constexpr int most = 256;
	Recurrence *recurrence = recurrence_of(definition);
	const auto find = [&] {
		return schedule::find_overdue(definition->source, now, recurrence->checked, most,
									  &recurrence->next);
	};
	List *overdue = find();
	// Fewer may be left than were checked.
	if (overdue == NIL && recurrence->checked > 0) {
		recurrence->checked = 0;
		overdue = find();
	}
	const bool is_end = list_length(overdue) < most;
	recurrence->checked = is_end ? 0 : recurrence->checked + most;
	if (!is_end)
		recurrence->next = recurrence->check_at;
	return overdue;
}

// Those of them whose occurrence is not there. A worker that claims one while this looks holds its row, as
// it was before: so it is found.
static List *
find_lost(Definition *definition, TimestampTz now)
{
	constexpr TimestampTz pause = USECS_PER_SEC;
	Recurrence *recurrence = recurrence_of(definition);
	recurrence->check_at = now + pause;
	recurrence->next = PG_INT64_MAX;
	const List *overdue = find_overdue(definition, now);
	if (overdue == NIL || are_hidden(definition->source))
		return NIL;
	return list_difference_ptr(overdue, find_unclaimed(definition, overdue));
}

// The schedules' lock keeps others from sending the same job.
void
send_lost(Definition *definition, TimestampTz now)
{
	const List *lost = find_lost(definition, now);
	if (lost == NIL || !schedule::lock_schedules_of(definition->source, false))
		return;
	ListCell *cell;
	foreach (cell, lost) {
		CHECK_FOR_INTERRUPTS();
		send_again(definition, *static_cast<const Schedule *>(lfirst(cell)), now);
	}
}

// Whether it is time for a look without another reason.
static bool
is_look_due(Definition *definition, TimestampTz now)
{
	const Recurrence *recurrence = recurrence_of(definition);
	return may_recur(definition) && (now >= recurrence->check_at || now >= recurrence->next);
}

void
send_lost_sometimes(Definition *definition, TimestampTz now)
{
	if (is_look_due(definition, now))
		send_lost(definition, now);
}

// The next look, of a call that may write, comes at once, and no queue is idle until then.
bool
is_any_lost(Definition *definition, TimestampTz now)
{
	if (!is_look_due(definition, now) || find_lost(definition, now) == NIL)
		return false;
	Recurrence *recurrence = recurrence_of(definition);
	recurrence->check_at = 0;
	recurrence->next = now;
	recurrence->checked = 0;
	return true;
}

int
count_dropped(const Occurrences *occurrences)
{
	int count = 0;
	ListCell *cell;
	foreach (cell, occurrences == nullptr ? NIL : occurrences->taken)
		count += static_cast<const Occurrence *>(lfirst(cell))->is_dropped;
	return count;
}

} // namespace queue_ext::claim
