// dead_jobs.cpp - see dead_jobs.hpp.

#include "../postgres.hpp"

#include "dead_jobs.hpp"

#include "../array.hpp"
#include "../definition/archiving.hpp"
#include "../definition/dead_queue.hpp"
#include "../definition/open.hpp"
#include "../definition/shape.hpp"
#include "../error.hpp"
#include "../stats/transaction_counters.hpp"
#include "../wake/written.hpp"
#include "claims_kept.hpp"
#include "given_back.hpp"

namespace queue_ext::claim {

using definition::Definition;
using definition::DeadQueue;
using statement::Arguments;
using statement::Parameter;
using statement::Statement;

// The moment, as the errors of a job have theirs.
static const char *
moment_of(const char *column)
{
	return psprintf("pg_catalog.to_char(pg_catalog.timezone('UTC', %s),"
					" 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')",
					column);
}

// What tells the job, of the row "m". It is that of the first queue where a job dies again.
static const char *
origin_text(const Definition *definition)
{
	const char *queue = quote_qualified_identifier(
		get_namespace_name(get_rel_namespace(definition->source)), definition->name);
	const char *origin =
		psprintf("pg_catalog.jsonb_build_object('queue', %s, 'id', m.id, 'attempts', m.attempt,"
				 " 'created_at', %s, 'died_at', %s)",
				 quote_literal_cstr(queue), moment_of("m.created_at"), moment_of("m.dead_at"));
	return definition::has_origin(definition->source) ? psprintf("coalesce(m.origin, %s)", origin)
													  : origin;
}

// Archives what was moved, as a part of the same statement.
static const char *
kept_text(const Definition *definition)
{
	return definition->is_archived
			   ? psprintf(", kept as (%s)", archiving_text(definition, "moved", "dead", nullptr))
			   : "";
}

const char *
are_dead(const char *row, Parameter moment)
{
	return psprintf("%s.id operator(pg_catalog.=) any (%s)"
					" and coalesce(%s.dead_at, 'infinity') operator(pg_catalog.<=) %s",
					row, placeholder(Parameter::ids), row, placeholder(moment));
}

// Moves the jobs of Parameter::ids, which may be dead or not. They are made now, not when the transaction began, which may be
// before they died. Returns how many were taken and put, when the first has died of those whose lease has ended, and how many
// were to be taken.
static const char *
move_text(const Definition *definition)
{
	constexpr Parameter moment = Parameter::call_time;
	const char *now = placeholder(moment);
	const char *copied =
		definition::shared_dead_columns(definition->source, definition->dead_queue);
	return psprintf(
		"with moved as (delete from %s as t where %s returning t.*)%s,"
		" put as (insert into %s (run_at, created_at, priority, last_error, payload, origin%s)"
		" select %s, %s, priority, last_error, payload, %s%s from moved as m"
		" order by m.dead_at, m.id returning 1)"
		" select (select pg_catalog.count(*) from moved), (select pg_catalog.count(*) from put),"
		" (select pg_catalog.min(m.dead_at) from moved as m where m.leased_until is not null),"
		" (select pg_catalog.count(*) from %s as s where %s)",
		definition->source_name, are_dead("t", moment), kept_text(definition),
		definition->dead_queue_name, copied, now, now, origin_text(definition), copied,
		definition->source_name, are_dead("s", moment));
}

static Sought
sought_jobs()
{
	return {"dead_at", "j.dead_at", nullptr, nullptr};
}

// Those behind a place. The index has not got the ids, so jobs that died at the same moment are sorted for each batch.
static Sought
sought_behind()
{
	return {"dead_at", "j.dead_at, j.id", behind_text("dead_at"), nullptr};
}

// The tables that the moves name. No other statement knows of the dead queue, whose schema its callers may not use.
static statement::Tables
moved_tables(Definition *definition)
{
	statement::Named *tables = definition::beside<ClaimsKept>(definition)->moved_tables;
	tables[0] = {definition->source, definition->source_name};
	tables[1] = {definition->dead_queue, definition->dead_queue_name};
	tables[2] = {definition->archive, definition->archive_name};
	return {tables, definition->is_archived ? 3 : 2};
}

static const Statement &
move_statement(Definition *definition)
{
	const definition::KeptStatement kept = kept_for_claims(definition, ClaimStatement::move_failed);
	if (!kept.statement->is_prepared()) {
		prepare(kept.statement, move_text(definition), definition->row_type,
				statement::Access::by_key, moved_tables(definition), {kept.act, definition->name});
		kept.statement->follows_partitions = definition->is_partitioned;
		definition::note_growth(definition);
	}
	return *kept.statement;
}

// Those that find jobs, or lock them: they do not name the dead queue.
static const Statement &
find_statement(Definition *definition, ClaimStatement which)
{
	constexpr const char *found = "j.id::pg_catalog.int8, j.dead_at";
	return prepared_of(definition, kept_for_claims(definition, which), [&] {
		switch (which) {
			case ClaimStatement::look_for_dead:
				return select_first(definition, sought_jobs());
			case ClaimStatement::look_behind_dead:
				return select_first(definition, sought_behind());
			case ClaimStatement::lock_dead:
				return lock_among(definition, sought_jobs());
			case ClaimStatement::move_behind_dead:
				return select_all(definition, sought_behind(), found);
			case ClaimStatement::dead_stay:
				return stays_text(definition, are_dead("s", Parameter::call_time));
			default:
				return select_all(definition, sought_jobs(), found);
		}
	});
}

bool
any_dead_stays(Definition *definition, const Arguments &arguments)
{
	return run(find_statement(definition, ClaimStatement::dead_stay), arguments) > 0;
}

// Where to go on if nothing becomes of what was found behind that place.
static JobPlace
place_after(const JobPlace &behind, const FoundBatch &found)
{
	return is_same(behind, before_all) ? before_all_in_order : found.last;
}

FoundBatch
lock_dead_batch(Definition *definition, TimestampTz time, JobPlace *behind)
{
	Arguments arguments(time);
	set_place(*behind, &arguments);
	const ClaimStatement which =
		is_same(*behind, before_all) ? ClaimStatement::move_dead : ClaimStatement::move_behind_dead;
	const FoundBatch found = found_jobs(run(find_statement(definition, which), arguments));
	if (found.count > 0)
		*behind = place_after(*behind, found);
	return found;
}

// Counts jobs that the dead queue was sent, as far as its trigger has not, and tells claims of them. Without its definition,
// which each move would have to open. Where nothing is counted, it is not known, either, whether the trigger has fired.
static void
note_sent(Oid dead_queue, int64 counted, int64 sent)
{
	const int64 by_trigger = stats::counted_by_trigger(dead_queue) - counted;
	stats::TransactionCounters *counters =
		sent > by_trigger && stats::is_on() ? stats::counters_of_table(dead_queue) : nullptr;
	if (counters == nullptr)
		return;
	counters->counts.add(stats::Counter::sent, sent - by_trigger);
	counters->is_blind = true;
	wake::note_writes(dead_queue, wake::at_once);
	wake::note_wake(dead_queue);
}

// A trigger of the dead queue may have suppressed jobs, which would be lost; one of the queue's table, those that stay. sent:
// what was counted before.
static int64
count_moved(Definition *definition, const Arguments &arguments, int64 sent)
{
	bool is_null;
	const auto value = [&](int column) {
		return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &is_null);
	};
	const int64 taken = DatumGetInt64(value(1));
	const int64 put = DatumGetInt64(value(2));
	const int64 sought = DatumGetInt64(value(4));
	const Datum death = value(3); // the last, for is_null
	if (taken < sought && any_dead_stays(definition, arguments))
		error::removal_suppressed(definition->source_name);
	if (put != taken)
		error::dead_jobs_suppressed(definition->dead_queue_name);
	if (taken == 0)
		return 0;
	stats::count(definition, stats::Counter::moved, taken);
	note_sent(definition->dead_queue, sent, taken);
	stats::TransactionCounters *counters = is_null ? nullptr : stats::counters_of(definition);
	if (counters != nullptr)
		note_death_of(definition->source, counters, DatumGetTimestampTz(death));
	return taken;
}

// Locks what a move writes besides the source: *slot is that of the archive. A worker, who has rows of the source locked,
// waits for no one: neither for a long DDL command nor in a deadlock.
static bool
lock_written(const Definition *definition, ClaimStatement which, TimestampTz now, Oid *slot)
{
	const bool waits = which == ClaimStatement::move_dead;
	const auto lock = [&] {
		*slot = InvalidOid;
		if (waits)
			LockRelationOid(definition->dead_queue, RowExclusiveLock);
		else if (!lock_if_free(definition->dead_queue))
			return false;
		return !definition->is_archived || !OidIsValid(definition->archive) ||
			   lock_archive(definition, now, waits, slot);
	};
	// What was locked before one that is not free is given back.
	return waits ? lock() : statement::committed_if(lock);
}

// The definition as it is under the locks; null if it has changed. What VACUUM tells of a table changes nothing, and the job of
// a failure is to go at once; the others come again.
static Definition *
valid_definition(Definition *definition, ClaimStatement which)
{
	if (definition->dependent.is_valid)
		return definition;
	if (which != ClaimStatement::move_failed)
		return nullptr;
	Definition *newest =
		definition::open_queue_of_name(definition->source, definition->name, definition::Use::name);
	const bool is_same = newest != nullptr && newest->dead_queue == definition->dead_queue &&
						 newest->is_archived == definition->is_archived &&
						 newest->archive == definition->archive &&
						 newest->has_slots == definition->has_slots;
	return is_same ? newest : nullptr;
}

// As the owner, with the locks on the tables. which: how it comes by the jobs; of lock_dead the arguments have those that a
// look has found, and of move_dead it finds those behind the place.
static int64
move_locked(Definition *definition, ClaimStatement which, Arguments arguments, JobPlace *behind)
{
	if (which != ClaimStatement::move_failed) {
		const FoundBatch locked = which == ClaimStatement::lock_dead
									  ? lock_sought(find_statement(definition, which), arguments)
									  : lock_dead_batch(definition, arguments.call_time(), behind);
		if (locked.count == 0)
			return 0;
		arguments.set(Parameter::ids, locked.ids);
	}
	const int64 sent = stats::counted_by_trigger(definition->dead_queue);
	run(move_statement(definition), arguments);
	return count_moved(definition, arguments, sent);
}

// Moves as the owner. Where there is no dead queue that can take jobs, they stay. So they do where a table is locked, or has
// changed since the definition was made, for the next look, which has a new one.
static int64
move(Definition *opened, ClaimStatement which, const Arguments &arguments, Manner manner,
	 JobPlace *behind)
{
	Oid slot;
	Definition *definition = lock_written(opened, which, arguments.call_time(), &slot)
								 ? valid_definition(opened, which)
								 : nullptr;
	if (definition == nullptr || dead_queue_of(definition) != DeadQueue::there)
		return 0;
	if (definition->is_archived && definition->archive_name == nullptr)
		error::archive_missing(definition->name, definition->source_name);
	const TableAccess accesses[] = {
		{definition->source, ACL_SELECT | ACL_UPDATE | ACL_DELETE, TRIGGER_TYPE_DELETE},
		{definition->dead_queue, ACL_SELECT | ACL_INSERT, TRIGGER_TYPE_INSERT},
		{definition->archive, ACL_SELECT | ACL_INSERT, TRIGGER_TYPE_INSERT, slot}};
	const int count = definition->is_archived ? 3 : 2;
	int64 moved = 0;
	as_owner(accesses, count, manner, [&](Runner) {
		if (which != ClaimStatement::move_dead)
			check_defers_nothing(accesses, count);
		statement::with_spi([&] { moved = move_locked(definition, which, arguments, behind); });
	});
	return moved;
}

static Arguments
arguments_at(const Definition *definition, TimestampTz now)
{
	Arguments arguments(now);
	set_slot(definition, now, &arguments);
	return arguments;
}

BatchResult
move_dead_batch(Definition *definition, TimestampTz now, Manner manner, JobPlace *behind)
{
	if (!has_dead_queue(definition))
		return BatchResult::last;
	return batch_of(definition, move(definition, ClaimStatement::move_dead,
									 arguments_at(definition, now), manner, behind));
}

static void
log_not_moved(const Definition *definition, const ErrorData *cause)
{
	error::log_dead_not_moved(definition->source_name, definition->dead_queue_name, cause);
}

void
move_failed(Definition *definition, const int64 *ids, int count, TimestampTz now)
{
	if (!has_dead_queue(definition) || count == 0)
		return;
	Arguments arguments = arguments_at(definition, now);
	arguments.set(Parameter::ids, bigint_array(ids, count));
	(void) unless_hindered(definition, LookKind::dead, log_not_moved, [&] {
		(void) move(definition, ClaimStatement::move_failed, arguments, Manner::plain, nullptr);
	});
}

namespace {

// Where the looks of this backend at a table go on after one that was hindered.
struct GoOn
{
	Oid source; // the key
	JobPlace behind;
	JobPlace next;           // behind, once the look under way is over
	TimestampTz hindered_at; // the last that was
};

} // namespace

static HTAB *places = nullptr;

// They begin at the head again when none was hindered for so long, or the clock was set back.
static GoOn *
place_of(Oid source, TimestampTz now)
{
	constexpr int64 longest = 10 * USECS_PER_MINUTE;
	bool is_found;
	auto *place = kept_of<GoOn>(&places, "queue_ext hindered moves", source, &is_found);
	if (!is_found || now < place->hindered_at || now - place->hindered_at > longest)
		*place = {source, before_all, before_all, now};
	return place;
}

static FoundBatch
find_behind(Definition *definition, const JobPlace &behind, Arguments arguments)
{
	set_place(behind, &arguments);
	return find_as_owner(definition->source, arguments, [&]() -> const Statement & {
		return find_statement(definition, is_same(behind, before_all)
											  ? ClaimStatement::look_for_dead
											  : ClaimStatement::look_behind_dead);
	});
}

// Finds the jobs before it locks any, or another table: a look leaves no lock where there are none. What was moved is there no
// more, so the place stays then; where nothing is left behind it, the next look begins at the head. What ends the claim leaves
// the place as it was.
static void
look(Definition *definition, GoOn *place, TimestampTz now)
{
	place->next = place->behind;
	if (dead_queue_of(definition) != DeadQueue::there)
		return;
	Arguments arguments = arguments_at(definition, now);
	const FoundBatch found = find_behind(definition, place->behind, arguments);
	if (found.count == 0) {
		place->next = before_all;
		return;
	}
	place->next = place_after(place->behind, found);
	arguments.set(Parameter::ids, found.ids);
	(void) move(definition, ClaimStatement::lock_dead, arguments, Manner::plain, nullptr);
	place->next = place->behind;
}

bool
move_dead_sometimes(Definition *definition, TimestampTz now)
{
	const Oid source = definition->source;
	const auto look_behind = [&] {
		look(definition, place_of(source, now), now);
	};
	if (!has_dead_queue(definition) ||
		!look_sometimes(definition, LookKind::dead, now, log_not_moved, look_behind))
		return false;
	GoOn *place = place_of(source, now);
	if (!is_same(place->behind, place->next))
		*place = {source, place->next, place->next, now};
	return true;
}

} // namespace queue_ext::claim
