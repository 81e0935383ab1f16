// looks.cpp - see looks.hpp.

#include "../postgres.hpp"

#include "looks.hpp"

#include "../array.hpp"
#include "../definition/archiving.hpp"

namespace queue_ext::claim {

using definition::Definition;
using statement::Arguments;
using statement::Parameter;
using statement::Statement;

// How long a backend does not look after a look, at least, by how much longer than that took, and after one that has failed.
constexpr int64 least_pause = USECS_PER_SEC;
constexpr int64 pause_factor = 20;
constexpr int64 pause_failed = 60 * USECS_PER_SEC;

const char *
behind_text(const char *moment)
{
	return psprintf("(j.%s, j.id) operator(pg_catalog.>) (%s, %s)", moment,
					placeholder(Parameter::cutoff), placeholder(Parameter::id));
}

void
set_place(const JobPlace &place, Arguments *arguments)
{
	arguments->set(Parameter::cutoff, TimestampTzGetDatum(place.moment));
	arguments->set(Parameter::id, Int64GetDatum(place.id));
}

// Who changes one has it locked, and another claim may be seeing to some.
static constexpr const char *unless_locked = " for update skip locked";

// "and" the condition, or nothing.
static const char *
and_text(const char *condition)
{
	return condition == nullptr ? "" : psprintf(" and %s", condition);
}

// Selects these columns of the first jobs that the index has of those whose moment has come.
static const char *
select_indexed(const Definition *definition, const Sought &sought, const char *columns,
			   const char *others, int limit, const char *lock)
{
	return psprintf("select %s from %s as j where j.%s operator(pg_catalog.<=) %s%s%s"
					" order by %s limit %d%s",
					columns, definition->source_name, sought.moment,
					placeholder(Parameter::call_time), and_text(sought.among), others, sought.order,
					limit, lock);
}

const char *
select_all(const Definition *definition, const Sought &sought, const char *columns)
{
	return select_indexed(definition, sought, columns, and_text(sought.others), look_batch_size,
						  unless_locked);
}

static const char *
sought_columns(const Sought &sought, const char *condition)
{
	return psprintf("j.id::pg_catalog.int8, j.%s::pg_catalog.timestamptz, %s", sought.moment,
					condition);
}

const char *
select_first(const Definition *definition, const Sought &sought)
{
	const char *others = sought.others == nullptr ? "true" : sought.others;
	return select_indexed(definition, sought, sought_columns(sought, others), "", most_read, "");
}

// Finds them by the primary key, and not by the index, which would read all jobs.
const char *
lock_among(const Definition *definition, const Sought &sought)
{
	const char *condition = psprintf("j.%s operator(pg_catalog.<=) %s%s", sought.moment,
									 placeholder(Parameter::call_time), and_text(sought.others));
	return psprintf("select %s from %s as j where j.id operator(pg_catalog.=) any (%s)"
					" order by coalesce(j.%s, 'infinity'), j.id limit %d%s",
					sought_columns(sought, condition), definition->source_name,
					placeholder(Parameter::ids), sought.moment, look_batch_size, unless_locked);
}

FoundBatch
found_jobs(uint64 rows)
{
	FoundBatch found{};
	found.read = static_cast<int>(rows);
	auto *ids = allocate<int64>(found.read);
	for (uint64 i = 0; i < rows; i++) {
		bool is_null;
		const auto value = [&](int column) {
			return SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, column, &is_null);
		};
		const int64 id = DatumGetInt64(value(1));
		const Datum moment = value(2);
		found.last_read = {is_null ? DT_NOEND : DatumGetTimestampTz(moment), id};
		constexpr int says = 3;
		if (SPI_tuptable->tupdesc->natts >= says && (!DatumGetBool(value(says)) || is_null))
			continue;
		if (found.count < look_batch_size)
			found.last = found.last_read;
		ids[found.count++] = id;
	}
	found.ids = bigint_array(ids, found.count);
	return found;
}

FoundBatch
lock_sought(const Statement &statement, Arguments arguments)
{
	constexpr int most_tries = 3;
	bool is_full = false;
	for (int tries = 1;; tries++) {
		FoundBatch found;
		const bool is_locked = statement::committed_if([&] {
			found = found_jobs(run(statement, arguments));
			is_full |= found.read == look_batch_size;
			return found.count == found.read || tries == most_tries;
		});
		if (is_locked) {
			found.is_full = is_full;
			return found;
		}
		arguments.set(Parameter::ids, found.ids);
	}
}

const char *
stays_text(const Definition *definition, const char *condition)
{
	return psprintf("select 1 from %s as s where %s limit 1%s", definition->source_name, condition,
					unless_locked);
}

bool
lock_if_free(Oid table)
{
	if (!ConditionalLockRelationOid(table, RowExclusiveLock))
		return false;
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(table)))
		return true;
	ListCell *cell;
	foreach (cell, find_all_inheritors(table, NoLock, nullptr))
		if (!ConditionalLockRelationOid(lfirst_oid(cell), RowExclusiveLock))
			return false;
	return true;
}

bool
lock_archive(const Definition *definition, TimestampTz now, bool waits, Oid *slot)
{
	const Oid archive = definition->archive;
	*slot = InvalidOid;
	if (waits)
		LockRelationOid(archive, RowExclusiveLock);
	else if (!ConditionalLockRelationOid(archive, RowExclusiveLock))
		return false;
	*slot = definition::find_slot(definition, now);
	return waits || lock_if_free(OidIsValid(*slot) ? *slot : archive);
}

// In a security-restricted operation nothing can be deferred.
void
defer_nothing()
{
	ConstraintsSetStmt all{};
	all.type = T_ConstraintsSetStmt;
	AfterTriggerSetState(&all);
}

void
wait_briefly()
{
	constexpr int most_ms = 100;
	if (LockTimeout == 0 || LockTimeout > most_ms)
		statement::set_locally({"lock_timeout", "100ms"});
}

bool
is_hindrance(const ErrorData *error)
{
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_TRANSACTION_ROLLBACK &&
		   !statement::is_interrupt(error);
}

namespace {

// When it was last said that something hinders what is done with such jobs of a table.
struct LastWord
{
	struct Key // no padding: it is hashed
	{
		Oid source;
		LookKind which;
	} key;
	TimestampTz at;
};

} // namespace

// Not beside definitions, which are made anew at any time. Grows with the queues whose jobs were hindered in this backend.
static HTAB *last_words = nullptr;

void
log_hindrance(const Definition *definition, LookKind which, LogHindrance log,
			  const ErrorData *cause)
{
	if (last_words == nullptr) {
		HASHCTL control{};
		control.keysize = sizeof(LastWord::Key);
		control.entrysize = sizeof(LastWord);
		last_words = hash_create("queue_ext hindered looks", 16, &control, HASH_ELEM | HASH_BLOBS);
	}
	const LastWord::Key key{definition->source, which};
	bool is_found;
	auto *last = static_cast<LastWord *>(hash_search(last_words, &key, HASH_ENTER, &is_found));
	const TimestampTz now = GetCurrentTimestamp();
	if (is_found && now >= last->at && now - last->at < pause_failed)
		return;
	last->at = now;
	log(definition, cause);
}

static NextLook *
next_look(Definition *definition, LookKind which)
{
	return &definition::beside<ClaimsKept>(definition)->next_looks[static_cast<int>(which)];
}

// At the level SERIALIZABLE a look would conflict with what others do to the jobs. A table with children may have rows of equal
// ids, by which they are written: one of them may be locked by others, and queue_maintain waits for these. The pause is set
// before the look, which may end the call.
bool
start_look(Definition *definition, LookKind which, TimestampTz now)
{
	NextLook *next = next_look(definition, which);
	// Not if the clock was set back.
	if (IsolationIsSerializable() || definition->has_children ||
		(now < next->at && next->at - now <= 2 * next->pause))
		return false;
	*next = {now + pause_failed, pause_failed};
	return true;
}

void
close_look(Definition *definition, LookKind which, TimestampTz begin)
{
	const TimestampTz end = GetCurrentTimestamp();
	const int64 pause = Max(least_pause, pause_factor * (end - begin));
	*next_look(definition, which) = {end + pause, pause};
}

} // namespace queue_ext::claim
