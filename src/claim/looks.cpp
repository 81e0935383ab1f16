// looks.cpp - see looks.hpp.

#include "../postgres.hpp"

#include "looks.hpp"

namespace queue_ext::claim {

using definition::Definition;
using statement::Parameter;

// How long a backend does not look after a look, at least, by how much longer than that took, and after one that has failed.
constexpr int64 least_pause = USECS_PER_SEC;
constexpr int64 pause_factor = 20;
constexpr int64 pause_failed = 60 * USECS_PER_SEC;

// Who changes one has it locked, and another claim may be seeing to some.
static constexpr const char *unless_locked = " for update skip locked";

// Selects these columns of the first jobs whose moment has come. moment: that, as an expression.
static const char *
select_jobs(const Definition *definition, const Sought &sought, const char *columns,
			const char *among, const char *moment, int limit, const char *lock)
{
	return psprintf("select %s from %s as j where %s operator(pg_catalog.<=) %s%s%s"
					" order by j.%s limit %d%s",
					columns, definition->source_name, moment, placeholder(Parameter::call_time),
					among, sought.others, sought.moment, limit, lock);
}

const char *
select_all(const Definition *definition, const Sought &sought, const char *columns)
{
	return select_jobs(definition, sought, columns, sought.among, psprintf("j.%s", sought.moment),
					   look_batch_size, unless_locked);
}

const char *
select_tried(const Definition *definition, const Sought &sought, const char *columns)
{
	return select_jobs(definition, sought, columns, sought.among, psprintf("j.%s", sought.moment),
					   most_tried, "");
}

// Finds them by the primary key, and not by the index, which would read all jobs.
const char *
lock_among(const Definition *definition, const Sought &sought, const char *ids, const char *columns)
{
	return psprintf("select %s, j.%s operator(pg_catalog.<=) %s%s from %s as j"
					" where j.id operator(pg_catalog.=) any (%s)"
					" order by coalesce(j.%s, 'infinity') limit %d%s",
					columns, sought.moment, placeholder(Parameter::call_time), sought.others,
					definition->source_name, ids, sought.moment, look_batch_size, unless_locked);
}

// Finds those that it tries again by the primary key, too.
const char *
select_first(const Definition *definition, const Sought &sought, const char *columns)
{
	const char *tried = select_tried(definition, sought, "j.id");
	return select_jobs(definition, sought, columns,
					   psprintf(" and j.id operator(pg_catalog.=) any (array(%s))", tried),
					   psprintf("coalesce(j.%s, 'infinity')", sought.moment), look_batch_size,
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

// In a security-restricted operation nothing can be deferred.
void
defer_nothing()
{
	ConstraintsSetStmt all{};
	all.type = T_ConstraintsSetStmt;
	AfterTriggerSetState(&all);
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
		Look which;
	} key;
	TimestampTz at;
};

} // namespace

// Not beside definitions, which are made anew at any time. Grows with the queues whose jobs were hindered in this backend.
static HTAB *last_words = nullptr;

void
log_hindrance(const Definition *definition, Look which, LogHindrance log, const ErrorData *cause)
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
next_look(Definition *definition, Look which)
{
	return &definition::beside<ClaimsKept>(definition)->next_looks[static_cast<int>(which)];
}

// At the level SERIALIZABLE a look would conflict with what others do to the jobs. The pause is set before the look, which
// may end the call.
bool
begin_look(Definition *definition, Look which, TimestampTz now)
{
	NextLook *next = next_look(definition, which);
	// Not if the clock was set back.
	if (IsolationIsSerializable() || (now < next->at && next->at - now <= 2 * next->pause))
		return false;
	*next = {now + pause_failed, pause_failed};
	return true;
}

void
end_look(Definition *definition, Look which, TimestampTz begin)
{
	const TimestampTz end = GetCurrentTimestamp();
	const int64 pause = Max(least_pause, pause_factor * (end - begin));
	*next_look(definition, which) = {end + pause, pause};
}

} // namespace queue_ext::claim
