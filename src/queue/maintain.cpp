// maintain.cpp - queue_maintain: removes what queues need not keep any longer, ends expired jobs, and moves dead jobs to dead queues.
//
// Each step is a transaction of its own, so that no lock lasts: a batch of dead jobs; a slot of the
// archive, which is truncated if all that it has is past its keep; a batch of rows of a slot that has come
// round again before it was truncated, or of an archive without slots; a batch of expired jobs, or of jobs for the dead queue.
// What comes after a step looks anew. The steps run as the owner of the table (slots.hpp), and do nothing that the owner has not set.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../claim/as_owner.hpp"
#include "../claim/dead_jobs.hpp"
#include "../claim/expired_jobs.hpp"
#include "../claim/looks.hpp"
#include "../definition/keep.hpp"
#include "../definition/name.hpp"
#include "../definition/open.hpp"
#include "../definition/registry.hpp"
#include "../error.hpp"
#include "../missing_rights.hpp"
#include "../statement/subtransaction.hpp"
#include "calls_kept.hpp"
#include "finish.hpp"
#include "finish_text.hpp"
#include "procedure.hpp"
#include "removed.hpp"
#include "slots.hpp"

namespace queue_ext::queue {

using definition::Definition;
using definition::Registered;
using definition::Use;
using statement::Named;
using statement::Parameter;

QUEUE_EXT_FUNCTION(queue_ext_queue_maintain);

// The rows of an archive that one transaction removes.
static constexpr int batch_size = 1000;

namespace {

// How a call goes through the queues.
struct Round
{
	MemoryContext context; // of one transaction
	bool is_of_all;        // what fails is told, and the next queue comes
};

} // namespace

// Who maintains all queues does not run the code of whoever has made one.
static claim::Manner
manner_of(const Round &round)
{
	return round.is_of_all ? claim::Manner::owner_only : claim::Manner::restricted;
}

// Whether the error is the queue's own: a trigger of its owner may raise anything. Who cancels the call
// cancels it for all queues.
static bool
is_of_queue(const Registered &queue, const ErrorData *error)
{
	if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
		return false;
	error::warn_not_maintained(queue.name, error);
	return true;
}

// Runs step(definition) in a transaction. False if the queue is gone, or if the step has failed and is
// passed over.
template <typename Step>
static bool
in_transaction(const Registered &queue, const Round &round, Step &&step)
{
	CHECK_FOR_INTERRUPTS();
	MemoryContextReset(round.context);
	EnsurePortalSnapshotExists();
	MemoryContext old = MemoryContextSwitchTo(round.context);
	volatile bool is_there = false;
	const auto run = [&] {
		Definition *definition =
			definition::open_queue_of_name(queue.source, queue.name, Use::purge);
		is_there = definition != nullptr && definition->is_managed;
		if (is_there)
			step(definition);
	};
	bool is_done = true;
	if (round.is_of_all)
		is_done = statement::in_subtransaction(
			run, [&](const ErrorData *error) { return is_of_queue(queue, error); });
	else
		run();
	MemoryContextSwitchTo(old);
	SPI_commit();
	return is_done && is_there;
}

// A job was not removed: it has stayed, or the archive has not taken it.
[[noreturn]] static void
raise_suppressed(Definition *definition, statement::Arguments arguments, TimestampTz cutoff)
{
	arguments.set(Parameter::call_time, TimestampTzGetDatum(cutoff));
	if (!definition->is_archived || claim::any_dead_stays(definition, arguments))
		error::removal_suppressed(definition->source_name);
	error::dead_jobs_suppressed(definition->archive_name);
}

// Removes the jobs of the arguments, which are locked. A trigger may suppress that, or a row of the archive, which would be lost.
static void
remove_locked(Definition *definition, const statement::Arguments &arguments, TimestampTz cutoff,
			  int count)
{
	const statement::Statement &statement =
		prepared_of(definition, kept_for_calls(definition, CallStatement::remove_dead), [&] {
			return removal_text(definition, {nullptr, claim::are_dead("t", Parameter::cutoff),
											 "dead", nullptr, false, death_text(definition)});
		});
	if (run(statement, arguments) < static_cast<uint64>(count))
		raise_suppressed(definition, arguments, cutoff);
	note_late(definition, arguments.call_time());
}

// Moves a batch of dead jobs to the archive, or deletes them if the queue has none. Not those of a queue with a dead queue: they are
// to be moved there, and have not been as others have them locked, or something hinders it, for however long. Who requeues or
// cancels one has it locked, and is waited for by the next call.
static claim::BatchResult
remove_dead(Definition *definition, TimestampTz, claim::Manner manner, claim::JobPlace *behind)
{
	const FinishOptions options = options_now();
	if (definition::is_for_ever(definition->dead_keep) || claim::has_dead_queue(definition) ||
		(definition->is_archived && definition->archive_name == nullptr))
		return claim::BatchResult::last;
	const TimestampTz cutoff = definition::cutoff_of(definition->dead_keep, options.call_time);
	statement::Arguments arguments = common_arguments(definition, options);
	arguments.set(Parameter::cutoff, TimestampTzGetDatum(cutoff));
	int count = 0;
	const auto remove = [&](claim::Runner) {
		statement::with_spi([&] {
			const claim::FoundBatch found = claim::lock_dead_batch(definition, cutoff, behind);
			count = found.count;
			if (count == 0)
				return;
			arguments.set(Parameter::ids, found.ids);
			remove_locked(definition, arguments, cutoff, count);
		});
	};
	const claim::TableAccess accesses[] = {
		{definition->source, ACL_SELECT | ACL_UPDATE | ACL_DELETE, TRIGGER_TYPE_DELETE},
		{definition->archive, ACL_SELECT | ACL_INSERT, TRIGGER_TYPE_INSERT}};
	const int tables = definition->archive_name == nullptr ? 1 : 2;
	claim::as_owner(accesses, tables, manner, remove);
	return count == claim::look_batch_size ? claim::BatchResult::full : claim::BatchResult::last;
}

// Calls see_to(definition, &place) for one batch after the other, each behind the place. While others keep altering the tables,
// the rest is left for another call. False if in_transaction() says that.
template <typename SeeTo>
static bool
each_batch(const Registered &queue, const Round &round, SeeTo &&see_to)
{
	using claim::BatchResult;
	constexpr int most_changes = 10;
	int changes = 0;
	claim::JobPlace behind = claim::before_all;
	BatchResult batch;
	do {
		batch = BatchResult::last;
		if (!in_transaction(queue, round,
							[&](Definition *definition) { batch = see_to(definition, &behind); }))
			return false;
		changes += batch == BatchResult::not_tried ? 1 : 0;
	} while (batch == BatchResult::full ||
			 (batch == BatchResult::not_tried && changes < most_changes));
	return true;
}

// Calls see_to(definition, now, manner, &place) for one batch after the other, as claims do (claim/looks.hpp). What hinders a batch
// leaves it, and the call goes on behind; then it tries again, and raises what hinders the first.
template <typename SeeTo>
static bool
see_to_all(const Registered &queue, const Round &round, SeeTo &&see_to)
{
	using claim::BatchResult;
	bool is_hindered = false;
	const auto raising = [&](Definition *definition, claim::JobPlace *behind) {
		const claim::JobPlace from = *behind;
		const BatchResult batch =
			see_to(definition, GetCurrentTimestamp(), manner_of(round), behind);
		// What was seen to is there no more, and nothing stays in front.
		if (is_same(from, claim::before_all) && is_same(*behind, claim::before_all_in_order))
			*behind = from;
		return batch;
	};
	const auto unless_hindered = [&](Definition *definition, claim::JobPlace *behind) {
		const claim::JobPlace from = *behind;
		BatchResult batch = BatchResult::last;
		if (statement::in_subtransaction([&] { batch = raising(definition, behind); },
										 claim::is_hindrance))
			return batch;
		is_hindered = true;
		return claim::is_same(*behind, from) ? BatchResult::last : BatchResult::full;
	};
	return each_batch(queue, round, unless_hindered) &&
		   (!is_hindered || each_batch(queue, round, raising));
}

// Whether the definition still has the archive, and that has a keep. A queue may be given another archive
// between two steps.
static bool
has_keep_for(const Definition *definition, Oid archive)
{
	return definition->archive_name != nullptr && definition->archive == archive &&
		   !definition::is_for_ever(definition->archive_keep);
}

// Deletes the expired rows of the archive, or of one of its slots.
static void
delete_all_expired(const Registered &queue, Oid archive, Oid table, const Round &round)
{
	int64 deleted;
	do {
		deleted = 0;
		(void) in_transaction(queue, round, [&](Definition *definition) {
			const Named named{table, definition::qualified_name(table)};
			if (has_keep_for(definition, archive) && named.name != nullptr)
				deleted =
					delete_expired(named, definition->archive_keep, batch_size, manner_of(round));
		});
	} while (deleted == batch_size);
}

static void
maintain_slot(const Registered &queue, Oid archive, Oid slot, const Round &round)
{
	bool is_mixed = false;
	(void) in_transaction(queue, round, [&](Definition *definition) {
		const Named named{slot, definition::qualified_name(slot)};
		if (has_keep_for(definition, archive) && named.name != nullptr)
			is_mixed =
				clear_slot(named, definition->archive_keep, manner_of(round)) == SlotState::mixed;
	});
	if (is_mixed)
		delete_all_expired(queue, archive, slot, round);
}

// An archive that the queue shares with another one, or that has another owner, is let be.
static void
maintain_archive(const Registered &queue, const Round &round)
{
	MemoryContext kept = CurrentMemoryContext;
	Oid archive = InvalidOid;
	List *slots = NIL;
	(void) in_transaction(queue, round, [&](Definition *definition) {
		if (definition::is_for_ever(definition->archive_keep) ||
			!definition::has_own_archive(definition))
			return;
		archive = definition->archive;
		MemoryContextSwitchTo(kept);
		if (definition->has_slots)
			slots = find_inheritance_children(archive, NoLock);
		else
			slots = list_make1_oid(archive);
		MemoryContextSwitchTo(round.context);
	});
	ListCell *cell;
	foreach (cell, slots) {
		if (lfirst_oid(cell) == archive)
			delete_all_expired(queue, archive, archive, round);
		else
			maintain_slot(queue, archive, lfirst_oid(cell), round);
	}
}

// What it takes to maintain a queue. No statement checks that, as they run as the owner.
constexpr AclMode needed_rights = ACL_SELECT | ACL_DELETE;

static bool
may_maintain(Oid source)
{
	return pg_class_aclmask(source, GetUserId(), needed_rights, ACLMASK_ALL) == needed_rights;
}

// The queue of that name. Raises 42704, 42501 and so on.
static List *
one_queue(const text *name)
{
	const Definition *definition =
		open_managed_queue(name, Use::purge, "Delete from its table what need not be kept.");
	const Oid source = definition->source;
	if (!may_maintain(source))
		error::no_right(get_rel_name(source), missing_rights::grants_for(list_make1(
												  missing_rights::need_of(source, needed_rights))));
	auto *queue = static_cast<Registered *>(palloc(sizeof(Registered)));
	*queue = {pstrdup(definition->name), definition->source, true, definition->dead_queue};
	return list_make1(queue);
}

// Those whose jobs the caller may read and delete.
static List *
all_queues()
{
	List *queues = NIL;
	ListCell *cell;
	foreach (cell, definition::find_all()) {
		auto *queue = static_cast<Registered *>(lfirst(cell));
		if (queue->is_managed && SearchSysCacheExists1(RELOID, ObjectIdGetDatum(queue->source)) &&
			!isOtherTempNamespace(get_rel_namespace(queue->source)) && may_maintain(queue->source))
			queues = lappend(queues, queue);
	}
	return queues;
}

Datum
queue_ext_queue_maintain(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_maintain()");
	if (!can_commit(fcinfo))
		error::cannot_commit_batches("queue_maintain()");
	const text *name = copy_text(fcinfo, 0);
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	List *queues = name == nullptr ? all_queues() : one_queue(name);
	SPI_commit();
	const Round round{
		AllocSetContextCreate(CurrentMemoryContext, "queue_ext maintain", ALLOCSET_DEFAULT_SIZES),
		name == nullptr};
	ListCell *cell;
	foreach (cell, queues) {
		const auto *queue = static_cast<const Registered *>(lfirst(cell));
		if (see_to_all(*queue, round, remove_dead))
			maintain_archive(*queue, round);
		// Last, as what hinders these may be raised. What has expired may be dead then.
		(void) see_to_all(*queue, round, claim::expire_batch);
		(void) see_to_all(*queue, round, claim::move_dead_batch);
	}
	SPI_finish();
	return static_cast<Datum>(0);
}

} // namespace queue_ext::queue
