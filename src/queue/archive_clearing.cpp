// archive_clearing.cpp - see archive_clearing.hpp.

#include "../postgres.hpp"

#include "archive_clearing.hpp"

#include "../definition/keep.hpp"
#include "../definition/name.hpp"
#include "../definition/open.hpp"
#include "../definition/registry.hpp"
#include "../error.hpp"
#include "../ring/shared_memory.hpp"
#include "../statement/search_path.hpp"
#include "../statement/subtransaction.hpp"
#include "../steady_time.hpp"
#include "calls_kept.hpp"
#include "slots.hpp"

namespace queue_ext::queue {

using definition::Definition;
using statement::Named;

// The rows that one look deletes.
constexpr int most_rows = 500;
// The longest wait of a look for a lock: its completion is about to commit.
constexpr const char *lock_timeout = "10ms";
// A slot that is in use, or a look that has failed, is tried again after so long, or a part of a period that is short.
constexpr int64 pause_in_use = USECS_PER_SEC;
constexpr int64 pause_failed = 60 * USECS_PER_SEC;
constexpr int period_parts = 16;
// Looks that find something to do take at most one in so many parts of the time.
constexpr int time_parts = 20;

namespace {

// A queue that is to be looked at when the transaction commits. In TopTransactionContext.
struct Look
{
	Oid source;
	const char *name;
	int64 pause; // after a failure
};

} // namespace

static List *looks = NIL;

// Whether the next look is still to come. A moment that is further ahead than any look sets it is that of
// a longer keep, or of a clock that has gone back.
static bool
is_ahead(TimestampTz next, TimestampTz now, const Interval &keep)
{
	const int64 period = definition::period_length(keep);
	return next > now && next - now <= period + period / period_parts;
}

static int64
pause_of(const Interval &keep, int64 most)
{
	return Min(definition::period_length(keep) / period_parts, most) + 1;
}

// Whether this backend is to look. Others leave it to that then, for a while.
static bool
take_look(Definition *definition, TimestampTz now)
{
	const Interval &keep = definition->archive_keep;
	const TimestampTz later = now + pause_of(keep, pause_in_use);
	pg_atomic_uint64 *shared = ring::next_look_of(definition->source);
	uint64 next = shared == nullptr ? 0 : pg_atomic_read_u64(shared);
	TimestampTz *next_look = &definition::beside<CallsKept>(definition)->next_look;
	if (is_ahead(static_cast<TimestampTz>(next), now, keep)) {
		*next_look = static_cast<TimestampTz>(next);
		return false;
	}
	*next_look = later;
	return shared == nullptr ||
		   pg_atomic_compare_exchange_u64(shared, &next, static_cast<uint64>(later));
}

// At the level SERIALIZABLE a look would conflict with what others archive.
void
note_archived(Definition *definition, TimestampTz now)
{
	if (!definition->is_archived || !definition->has_slots ||
		definition::is_for_ever(definition->archive_keep) ||
		is_ahead(definition::beside<CallsKept>(definition)->next_look, now,
				 definition->archive_keep) ||
		IsTransactionBlock() || IsolationIsSerializable() || !take_look(definition, now))
		return;
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	auto *look = static_cast<Look *>(palloc(sizeof(Look)));
	*look = {definition->source, pstrdup(definition->name),
			 pause_of(definition->archive_keep, pause_failed)};
	looks = lappend(looks, look);
	MemoryContextSwitchTo(old);
}

// A trigger that is deferred would not fire any more: the transaction is about to commit. The table must
// be locked.
static bool
has_triggers(Oid table)
{
	Relation relation = relation_open(table, NoLock);
	const bool has_any = relation->trigdesc != nullptr;
	relation_close(relation, NoLock);
	return has_any;
}

// Clears the slot, or deletes some of it, without waiting for those who have it locked. *rows: how many it
// has deleted.
static SlotState
clear_free_slot(Oid slot, const Interval &keep, int64 *rows)
{
	if (!ConditionalLockRelationOid(slot, AccessShareLock))
		return SlotState::in_use;
	const Named named{slot, definition::qualified_name(slot)};
	SlotState state = SlotState::kept;
	if (named.name != nullptr && !has_triggers(slot) &&
		claim::may_run_as_owner(slot, TRIGGER_TYPE_TRUNCATE))
		state = clear_slot(named, keep, claim::Manner::owner_only);
	if (state == SlotState::mixed)
		*rows = delete_expired(named, keep, most_rows, claim::Manner::owner_only);
	UnlockRelationOid(slot, AccessShareLock);
	return state;
}

// Clears one slot at most, so that a look does not take long. Returns when to look again.
static TimestampTz
clear_slots(Oid archive, const Interval &keep)
{
	const TimestampTz now = GetCurrentTimestamp();
	const int64 begun = steady_now();
	const int64 period = definition::period_length(keep);
	// A little later, so that what was archived in the last moment of a period has expired, too.
	TimestampTz next = (definition::period_of(keep, now) + 1) * period + period / period_parts;
	ListCell *cell;
	foreach (cell, find_inheritance_children(archive, NoLock)) {
		int64 rows = 0;
		const SlotState state = clear_free_slot(lfirst_oid(cell), keep, &rows);
		if (state == SlotState::cleared || rows == most_rows)
			return now + Min((steady_now() - begun) * time_parts, period);
		if (state == SlotState::in_use)
			next = Min(next, now + pause_of(keep, pause_in_use));
	}
	return next;
}

// An archive that the queue shares with another one, or that has another owner, is let be. Returns when
// to look again.
static TimestampTz
clear_archive(Definition *definition)
{
	const Interval keep = definition->archive_keep;
	if (!definition->has_slots || definition::is_for_ever(keep) ||
		!definition::has_own_archive(definition))
		return GetCurrentTimestamp() + pause_of(keep, pause_failed);
	const int level = NewGUCNestLevel();
	statement::set_locally({"lock_timeout", lock_timeout});
	const TimestampTz next = clear_slots(definition->archive, keep);
	AtEOXact_GUC(true, level);
	return next;
}

static void
note_next(const Look &look, Definition *definition, TimestampTz next)
{
	if (definition != nullptr)
		definition::beside<CallsKept>(definition)->next_look = next;
	pg_atomic_uint64 *shared = ring::next_look_of(look.source);
	if (shared != nullptr)
		pg_atomic_write_u64(shared, static_cast<uint64>(next));
}

// The completion is to commit even where an archive cannot be cleared; but who cancels it cancels it.
static void
look_at(const Look &look)
{
	const bool is_done = statement::in_subtransaction(
		[&] {
			PushActiveSnapshot(GetTransactionSnapshot());
			Definition *definition =
				definition::open_queue_of_name(look.source, look.name, definition::Use::name);
			if (definition != nullptr)
				note_next(look, definition, clear_archive(definition));
			PopActiveSnapshot();
		},
		[&](const ErrorData *error) {
			if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
				return false;
			if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
				error::log_slot_not_cleared(look.name, error);
			return true;
		});
	if (!is_done)
		note_next(look, nullptr, GetCurrentTimestamp() + look.pause);
}

static void
look_at_all(const List *all)
{
	MemoryContext context =
		AllocSetContextCreate(TopTransactionContext, "queue_ext clearing", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	ListCell *cell;
	foreach (cell, all)
		look_at(*static_cast<const Look *>(lfirst(cell)));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

// A pipeline may have begun a transaction block since the call. Clearing notes nothing.
static void
on_transaction_end(XactEvent event, void *)
{
	if (looks == NIL)
		return;
	const List *all = looks;
	looks = NIL;
	if (event == XACT_EVENT_PRE_COMMIT && !IsTransactionBlock())
		look_at_all(all);
}

void
register_archive_clearing()
{
	RegisterXactCallback(on_transaction_end, nullptr);
}

} // namespace queue_ext::queue
