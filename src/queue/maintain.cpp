// maintain.cpp - queue_maintain: removes what queues need not keep any longer, ends expired jobs, and moves dead jobs to dead queues.
//
// Each step is a transaction of its own, so that no lock lasts: a batch of dead jobs; a slot of the
// archive, which is truncated if all that it has is past its keep; a batch of rows of a slot that has come
// round again before it was truncated, or of an archive without slots; a batch of expired jobs, or of jobs for the dead queue.
// What comes after a step looks anew. The steps run as the owner of the table (slots.hpp), and do nothing that the owner has not set.
//
// Invariant: what hinders a step keeps no other from running, and no batch from being tried but those behind a hundred that were
// hindered in a row. It is raised when all have run, or told if the call is for all queues.

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
	bool is_of_all;        // what fails is told, and the next step comes
	bool is_raising;       // what hinders a step is raised; or else it is noted
	bool is_hindered;      // what hinders the step has been noted
	bool is_told;          // a warning has said why the queue was not maintained
};

// What became of a transaction.
enum class Outcome {
	done,
	over, // the queue is gone, or has failed and is passed over
	hindered,
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
	if (statement::is_interrupt(error))
		return false;
	error::warn_not_maintained(queue.name, error);
	return true;
}

// Runs step(definition) in a transaction.
template <typename Step>
static Outcome
in_transaction(const Registered &queue, Round *round, Step &&step)
{
	CHECK_FOR_INTERRUPTS();
	if (round->is_raising && round->is_told)
		return Outcome::over;
	MemoryContextReset(round->context);
	EnsurePortalSnapshotExists();
	MemoryContext old = MemoryContextSwitchTo(round->context);
	volatile Outcome outcome = Outcome::over;
	const auto run = [&] {
		Definition *definition =
			definition::open_queue_of_name(queue.source, queue.name, Use::purge);
		if (definition == nullptr || !definition->is_managed)
			return;
		claim::defer_nothing();
		step(definition);
		outcome = Outcome::done;
	};
	const auto is_passed_over = [&](const ErrorData *error) {
		const bool is_noted = !round->is_raising && !statement::is_interrupt(error);
		round->is_hindered |= is_noted;
		outcome = is_noted ? Outcome::hindered : Outcome::over;
		const bool is_told = !is_noted && round->is_of_all && is_of_queue(queue, error);
		round->is_told |= is_told;
		return is_noted || is_told;
	};
	if (round->is_raising && !round->is_of_all)
		run();
	else
		(void) statement::in_subtransaction(run, is_passed_over);
	MemoryContextSwitchTo(old);
	SPI_commit();
	return outcome;
}

static const statement::Statement &
removal_statement(Definition *definition)
{
	return prepared_of(definition, kept_for_calls(definition, CallStatement::remove_dead), [&] {
		return removal_text(definition, {nullptr, claim::are_dead("t", Parameter::cutoff), "dead",
										 nullptr, false, death_text(definition)});
	});
}

// A job was not removed: it has stayed, or the archive has not taken it.
[[noreturn]] static void
raise_suppressed(Definition *definition, TimestampTz cutoff, Datum ids)
{
	statement::Arguments arguments(cutoff);
	arguments.set(Parameter::ids, ids);
	if (!definition->is_archived || claim::any_dead_stays(definition, arguments))
		error::removal_suppressed(definition->source_name);
	error::dead_jobs_suppressed(definition->archive_name);
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
			// A trigger may suppress that, or a row of the archive, which would be lost.
			if (run(removal_statement(definition), arguments) < static_cast<uint64>(count))
				raise_suppressed(definition, cutoff, found.ids);
			note_late(definition, arguments.call_time());
		});
	};
	const claim::TableAccess accesses[] = {
		{definition->source, ACL_SELECT | ACL_UPDATE | ACL_DELETE, TRIGGER_TYPE_DELETE},
		{definition->archive, ACL_SELECT | ACL_INSERT, TRIGGER_TYPE_INSERT}};
	const int tables = definition->archive_name == nullptr ? 1 : 2;
	claim::as_owner(accesses, tables, manner, remove);
	return count == claim::look_batch_size ? claim::BatchResult::full : claim::BatchResult::last;
}

namespace {

// Sees to a batch of the queue's jobs behind a place, as claims do (claim/looks.hpp).
using SeeTo = claim::BatchResult (*)(Definition *, TimestampTz, claim::Manner, claim::JobPlace *);

} // namespace

// Sees to one batch after the other, each behind the last. What hinders a batch leaves it, and the call goes on behind. After a
// hundred of them in a row it stops, as that may concern all; *place is where the session's next call begins, which comes to the head as it
// raises. While others keep altering the tables, the rest is left for another call.
static void
see_to_all(const Registered &queue, Round *round, SeeTo see_to, claim::JobPlace *place)
{
	using claim::BatchResult;
	constexpr int most_changes = 10;
	constexpr int most_hindered = 100;
	int changes = 0;
	int hindered = 0;
	claim::JobPlace behind = round->is_raising ? claim::before_all : *place;
	round->is_hindered |= !is_same(behind, claim::before_all);
	BatchResult batch;
	do {
		const claim::JobPlace from = behind;
		batch = BatchResult::last;
		const Outcome outcome = in_transaction(queue, round, [&](Definition *definition) {
			batch = see_to(definition, GetCurrentTimestamp(), manner_of(*round), &behind);
		});
		if (outcome == Outcome::over)
			return;
		hindered = outcome == Outcome::hindered ? hindered + 1 : 0;
		if (hindered == most_hindered) {
			*place = behind;
			return;
		}
		// What hinders it before it has found a batch concerns all.
		if (hindered > 0)
			batch = is_same(behind, from) ? BatchResult::last : BatchResult::full;
		// What was seen to is there no more, and nothing stays in front.
		else if (is_same(from, claim::before_all) && is_same(behind, claim::before_all_in_order))
			behind = from;
		changes += batch == BatchResult::not_tried ? 1 : 0;
	} while (batch == BatchResult::full ||
			 (batch == BatchResult::not_tried && changes < most_changes));
	*place = claim::before_all;
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
delete_all_expired(const Registered &queue, Oid archive, Oid table, Round *round)
{
	int64 deleted;
	do {
		deleted = 0;
		(void) in_transaction(queue, round, [&](Definition *definition) {
			const Named named{table, definition::qualified_name(table)};
			if (has_keep_for(definition, archive) && named.name != nullptr)
				deleted =
					delete_expired(named, definition->archive_keep, batch_size, manner_of(*round));
		});
	} while (deleted == batch_size);
}

static void
maintain_slot(const Registered &queue, Oid archive, Oid slot, Round *round)
{
	bool is_mixed = false;
	(void) in_transaction(queue, round, [&](Definition *definition) {
		const Named named{slot, definition::qualified_name(slot)};
		if (has_keep_for(definition, archive) && named.name != nullptr)
			is_mixed =
				clear_slot(named, definition->archive_keep, manner_of(*round)) == SlotState::mixed;
	});
	if (is_mixed)
		delete_all_expired(queue, archive, slot, round);
}

// An archive that the queue shares with another one, or that has another owner, is let be.
static void
maintain_archive(const Registered &queue, Round *round)
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
		MemoryContextSwitchTo(round->context);
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

// What a call does with a queue, in this order: what has expired may be dead then. null: the archive.
static constexpr SeeTo steps[] = {remove_dead, nullptr, claim::expire_batch,
								  claim::move_dead_batch};
static constexpr int step_count = lengthof(steps);

namespace {

// Where the next call of this backend begins with the jobs of a table.
struct Places
{
	Oid source; // the key
	claim::JobPlace behind[step_count];
};

} // namespace

static HTAB *places = nullptr;

static Places *
places_of(Oid source)
{
	bool is_found;
	auto *kept = claim::kept_of<Places>(&places, "queue_ext maintenance", source, &is_found);
	for (int i = 0; i < step_count && !is_found; i++)
		kept->behind[i] = claim::before_all;
	return kept;
}

// Does the steps; then tries those again that were hindered, and raises the first error, or tells it.
static void
maintain(const Registered &queue, Round *round)
{
	Places *kept = places_of(queue.source);
	bool is_hindered[step_count];
	const auto do_step = [&](int i) {
		round->is_hindered = false;
		if (steps[i] == nullptr)
			maintain_archive(queue, round);
		else
			see_to_all(queue, round, steps[i], &kept->behind[i]);
		is_hindered[i] = round->is_hindered;
	};
	round->is_raising = false;
	round->is_told = false;
	for (int i = 0; i < step_count; i++)
		do_step(i);
	round->is_raising = true;
	for (int i = 0; i < step_count; i++)
		if (is_hindered[i])
			do_step(i);
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
	Round round{};
	round.context =
		AllocSetContextCreate(CurrentMemoryContext, "queue_ext maintain", ALLOCSET_DEFAULT_SIZES);
	round.is_of_all = name == nullptr;
	ListCell *cell;
	foreach (cell, queues)
		maintain(*static_cast<const Registered *>(lfirst(cell)), &round);
	SPI_finish();
	return static_cast<Datum>(0);
}

} // namespace queue_ext::queue
