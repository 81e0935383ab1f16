// tally.cpp - see tally.hpp.

#include "../postgres.hpp"

#include "tally.hpp"

namespace queue_ext::stats {

using definition::Definition;

// The tallies of the current transaction, those of the innermost subtransaction first, in
// TopTransactionContext.
static Tally *tallies = nullptr;

static bool
is_same(const Place &one, const Place &other)
{
	return one.entry == other.entry && one.number == other.number;
}

// The place's tally of that subtransaction, from that one on; null if there is none.
static Tally *
find_tally(Tally *from, const Place &place, SubTransactionId made_in)
{
	for (Tally *tally = from; tally != nullptr; tally = tally->next)
		if (tally->made_in == made_in && is_same(tally->place, place))
			return tally;
	return nullptr;
}

// Empties what was counted; not what a rollback has to undo.
static void
forget(Tally *tally)
{
	tally->counts = {};
	clear(&tally->marks);
	tally->claimed = none_left;
	tally->claims = 0;
	tally->left = none_left;
	tally->clock = no_clock;
	tally->due = PG_INT64_MAX;
	tally->delayed = 0;
	tally->requeued = 0;
	tally->removed = none_removed;
	tally->is_blind = false;
}

static void
forget_looks(Tally *tally)
{
	tally->has_looked = false;
	clear(&tally->former.bounds);
	tally->former.clock = no_clock;
	tally->former.is_whole = true;
}

static Tally *
tally_at(const Place &place)
{
	if (place.entry == nullptr)
		return nullptr;
	const SubTransactionId current = GetCurrentSubTransactionId();
	Tally *tally = find_tally(tallies, place, current);
	if (tally != nullptr)
		return tally;
	tally = static_cast<Tally *>(MemoryContextAllocZero(TopTransactionContext, sizeof(Tally)));
	tally->place = place;
	tally->made_in = current;
	forget(tally);
	forget_looks(tally);
	tally->next = tallies;
	tallies = tally;
	return tally;
}

// Of what this session does nothing is known, nor what it leaves in the ring.
static Tally *
note_untracked(const Place &place)
{
	Tally *tally = tally_at(place);
	if (tally != nullptr) {
		tally->is_blind = true;
		tally->has_vain = true;
	}
	return nullptr;
}

Tally *
tally_of(Definition *definition)
{
	return is_on() ? tally_at(place_of(definition))
				   : note_untracked(untracked_place_of(definition));
}

Tally *
tally_of_table(Oid table)
{
	if (!is_on())
		return note_untracked(untracked_place_of(key_of_table(table)));
	return tally_at(place_of_table(table));
}

void
count(Definition *definition, Counter counter, int64 number)
{
	Tally *tally = number == 0 ? nullptr : tally_of(definition);
	if (tally != nullptr)
		tally->counts.add(counter, number);
}

void
count_at_once(Definition *definition, Counter counter)
{
	const Place place = place_of(definition);
	if (place.entry != nullptr)
		with_entry(place, [&](Entry *entry) { entry->counts.add(counter, 1); });
}

int64
counted(Definition *definition, Counter counter)
{
	const Place place = place_of(definition);
	int64 found = 0;
	for (const Tally *tally = tallies; tally != nullptr; tally = tally->next)
		if (is_same(tally->place, place))
			found += tally->counts.get(counter);
	return found;
}

// The key can be read without the spinlock, as the transaction has a lock on the table.
int64
counted_by_trigger(Oid table)
{
	const Key key = key_of_table(table);
	int64 found = 0;
	for (const Tally *tally = tallies; tally != nullptr; tally = tally->next)
		if (tally->place.entry->key == key)
			found += tally->counts.get(Counter::sent);
	return found;
}

// What was counted before the change is of the queue that had the entry until then.
static void
note_change(const Key &key, Change change, bool is_empty)
{
	if (!is_on())
		(void) note_untracked(untracked_place_of(key));
	bool is_new;
	Tally *tally = tally_at(place_of(key, &is_new));
	if (tally == nullptr)
		return;
	tally->change = change;
	tally->is_empty = is_empty;
	tally->is_new |= is_new;
	forget(tally);
}

void
note_begin(Oid table, const char *queue, bool is_managed, bool is_empty)
{
	note_change(key_of(table, queue, is_managed), Change::begins, is_empty);
}

void
note_end(Oid table, const char *queue, bool is_managed)
{
	note_change(key_of(table, queue, is_managed), Change::ends, false);
}

// The clock is read only where the time may be one to come.
void
note_ready(Tally *tally, int16 priority, TimestampTz run_at, bool is_new)
{
	if (run_at <= GetCurrentStatementStartTimestamp() || run_at <= GetCurrentTimestamp()) {
		lower(&tally->marks, priority, run_at);
		return;
	}
	tally->due = Min(tally->due, run_at);
	tally->delayed += is_new;
	note_clock(tally, priority, run_at);
}

// Jobs that this transaction has made ready may be among them.
static void
add_left(Tally *tally, Left *all, const Left &left)
{
	widen(all, left);
	doubt(&tally->marks, left);
}

void
note_claim(Tally *tally, int16 priority, TimestampTz run_at)
{
	add_left(tally, &tally->claimed, {{priority, priority}, {run_at, run_at}});
	tally->claims++;
}

void
note_left(Tally *tally, int16 priority, TimestampTz run_at)
{
	add_left(tally, &tally->left, {{priority, priority}, {run_at, run_at}});
}

void
note_some_left(Tally *tally)
{
	add_left(tally, &tally->left, all_left);
}

void
add_removed(Removed *removed, int16 priority, const JobTimes &job, TimestampTz now)
{
	const bool is_leased = job.leased_until != DT_NOBEGIN;
	if (is_leased && job.dead_at != DT_NOBEGIN)
		removed->death = Min(removed->death, job.dead_at);
	if (job.dead_at != DT_NOBEGIN && job.dead_at <= now)
		return;
	if (is_leased)
		removed->leased++;
	else if (job.run_at > now) {
		removed->scheduled++;
		removed->due = Min(removed->due, job.run_at);
	} else
		removed->ready++;
	if (!is_leased || job.leased_until <= now)
		widen(&removed->left, {{priority, priority}, {job.run_at, job.run_at}});
}

void
note_removed(Tally *tally, const Removed &removed)
{
	tally->removed.ready += removed.ready;
	tally->removed.scheduled += removed.scheduled;
	tally->removed.leased += removed.leased;
	tally->removed.due = Min(tally->removed.due, removed.due);
	note_death(tally, removed.death);
	add_left(tally, &tally->left, removed.left);
}

void
note_death(Tally *tally, TimestampTz at)
{
	tally->removed.death = Min(tally->removed.death, at);
}

static void
add_former(Former *former, const Former &more)
{
	lower(&former->bounds, more.bounds);
	lower(&former->clock, more.clock);
	former->is_whole &= more.is_whole;
}

void
note_look(Tally *tally, const Estimate &before)
{
	tally->has_looked = true;
	add_former(&tally->former, {bounds_of(before.marks), before.clock, before.is_whole});
}

void
note_vain(Tally *tally)
{
	tally->has_vain = true;
}

void
note_clock(Tally *tally, int32 priority, TimestampTz at)
{
	lower(&tally->clock, {at, priority});
}

// Jobs may have come or left of which nothing is known.
static void
doubt(Estimate *estimate)
{
	estimate->is_whole = false;
	estimate->is_counted = false;
	estimate->is_doubted = true;
	estimate->is_due_sure = false;
	doubt(&estimate->marks, all_left);
	doubt(&estimate->told.marks, all_left);
	estimate->left = all_left;
	estimate->told.left = all_left;
	estimate->clock = unknown_clock;
	estimate->told.clock = unknown_clock;
}

// What the transaction has told last is of jobs that are there.
static void
change_marks(Marks *marks, const Tally *tally)
{
	doubt(marks, tally->claimed);
	doubt(marks, tally->left);
	lower(marks, tally->marks);
}

// Since when jobs are ready, after the transaction.
static void
change_ages(Estimate *estimate, const Tally *tally, TimestampTz now)
{
	Told *told = &estimate->told;
	change_marks(&estimate->marks, tally);
	change_marks(&told->marks, tally);
	widen(&told->claimed, tally->claimed);
	widen(&estimate->left, tally->left);
	widen(&told->left, tally->left);
	lower(&estimate->clock, tally->clock);
	lower(&told->clock, tally->clock);
	if (tally->claims > 0)
		estimate->claimed_at = Max(estimate->claimed_at, now);
}

// The first of the scheduled jobs may be among those that were removed, also by the transaction that sent it: then due
// is before that of the next one.
static void
change_due(Estimate *estimate, const Tally *tally)
{
	estimate->is_due_sure &= !tally->left.times.has(estimate->due);
	if (tally->due < estimate->due) {
		estimate->due = tally->due;
		estimate->is_due_sure = !tally->left.times.has(tally->due);
	}
	estimate->scheduled += tally->delayed - tally->removed.scheduled;
	if (estimate->is_counted && estimate->scheduled <= 0)
		estimate->due = PG_INT64_MAX;
}

// Commits are added up in any order: a number may be negative for a while.
static void
change_counts(Estimate *estimate, const Tally *tally)
{
	const Counts &counts = tally->counts;
	const Removed &removed = tally->removed;
	const int64 ended = counts.get(Counter::completed) + counts.get(Counter::failed) +
						counts.get(Counter::released) + counts.get(Counter::expired);
	estimate->leased += counts.get(Counter::claimed) - ended - removed.leased;
	estimate->unfinished += counts.get(Counter::sent) + tally->requeued -
							counts.get(Counter::completed) - counts.get(Counter::dead) -
							removed.ready - removed.scheduled - removed.leased;
}

// Adds what the transaction has made of the jobs of a managed queue. The entry's spinlock must be
// held.
static void
change(Estimate *estimate, const Tally *tally, TimestampTz now)
{
	change_ages(estimate, tally, now);
	change_due(estimate, tally);
	change_counts(estimate, tally);
	estimate->is_counted &= tally->removed.death > now && tally->removed.due > now;
	// Claims of which only the number is known.
	if (tally->is_blind || tally->counts.get(Counter::claimed) > tally->claims)
		doubt(estimate);
	estimate->changes++;
}

// Must not raise: the transaction has committed.
static void
apply(const Tally *tally)
{
	if (tally->change == Change::ends) {
		give_up(tally->place);
		return;
	}
	if (tally->change == Change::begins)
		begin(tally->place, GetCurrentTimestamp(), tally->is_empty);
	// A look may have come after the commit, and before this, whose clock has found a job dead, or ready.
	const Removed &removed = tally->removed;
	const TimestampTz now = removed.death == PG_INT64_MAX && removed.due == PG_INT64_MAX
								? GetCurrentTransactionStopTimestamp()
								: GetCurrentTimestamp();
	with_entry(tally->place, [&](Entry *entry) {
		add_counts(&entry->counts, tally->counts);
		if (entry->key.is_managed)
			change(&entry->estimate, tally, now);
	});
}

// Must not raise: the transaction has been prepared, and its jobs will be there without a word. A look under
// way does not know of it.
static void
doubt(const Tally *tally)
{
	with_entry(tally->place, [](Entry *entry) {
		doubt(&entry->estimate);
		entry->estimate.looks++;
	});
}

// Jobs that a look did not see are there again.
static void
restore(Estimate *estimate, const Former &former)
{
	lower(&estimate->marks, former.bounds);
	lower(&estimate->told.marks, former.bounds);
	lower(&estimate->clock, former.clock);
	lower(&estimate->told.clock, former.clock);
	estimate->is_whole &= former.is_whole;
}

// Must not raise: the transaction or subtransaction has been rolled back.
static void
undo(const Tally *tally)
{
	if (tally->is_new) {
		give_up(tally->place);
		return;
	}
	if (!tally->has_vain && !tally->has_looked)
		return;
	with_entry(tally->place, [&](Entry *entry) {
		Estimate *estimate = &entry->estimate;
		if (tally->has_vain) {
			estimate->left = all_left;
			estimate->told.left = all_left;
		}
		if (tally->has_looked)
			restore(estimate, tally->former);
	});
}

// The memory goes with TopTransactionContext.
static void
on_transaction_end(XactEvent event, void *)
{
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE)
		return;
	for (const Tally *tally = tallies; tally != nullptr; tally = tally->next)
		if (event == XACT_EVENT_COMMIT)
			apply(tally);
		else if (event == XACT_EVENT_ABORT)
			undo(tally);
		else
			doubt(tally);
	tallies = nullptr;
}

// A subtransaction's tally comes after its parent's.
static void
merge_into(Tally *parent, const Tally *child)
{
	parent->is_new |= child->is_new;
	if (child->change != Change::none) {
		parent->change = child->change;
		parent->is_empty = child->is_empty;
		forget(parent);
	}
	add_counts(&parent->counts, child->counts);
	doubt(&parent->marks, child->claimed);
	doubt(&parent->marks, child->left);
	lower(&parent->marks, child->marks);
	widen(&parent->claimed, child->claimed);
	parent->claims += child->claims;
	widen(&parent->left, child->left);
	lower(&parent->clock, child->clock);
	parent->due = Min(parent->due, child->due);
	parent->delayed += child->delayed;
	parent->requeued += child->requeued;
	note_removed(parent, child->removed);
	parent->is_blind |= child->is_blind;
	parent->has_vain |= child->has_vain;
	parent->has_looked |= child->has_looked;
	add_former(&parent->former, child->former);
}

// Gives the parent what the subtransaction has counted; otherwise tallies would pile up in a loop of
// subtransactions.
static void
hand_to_parent(SubTransactionId ended, SubTransactionId parent)
{
	for (Tally **link = &tallies; *link != nullptr && (*link)->made_in == ended;) {
		Tally *child = *link;
		Tally *same = find_tally(child->next, child->place, parent);
		if (same == nullptr) {
			child->made_in = parent;
			link = &child->next;
			continue;
		}
		merge_into(same, child);
		*link = child->next;
		pfree(child);
	}
}

// What a rolled back subtransaction leaves to its parent, without new memory: candidates that it has put back may be
// versions of rows that are the parent's.
static bool
is_kept_by_parent(Tally *tally, SubTransactionId parent)
{
	if (!tally->has_vain || tally->is_new)
		return false;
	Tally *same = find_tally(tallies, tally->place, parent);
	if (same != nullptr) {
		same->has_vain = true;
		return false;
	}
	forget(tally);
	forget_looks(tally);
	tally->change = Change::none;
	tally->made_in = parent;
	return true;
}

static void
undo_all(SubTransactionId ended, SubTransactionId parent)
{
	Tally *kept = nullptr;
	while (tallies != nullptr && tallies->made_in == ended) {
		Tally *tally = tallies;
		tallies = tally->next;
		undo(tally);
		if (is_kept_by_parent(tally, parent)) {
			tally->next = kept;
			kept = tally;
		} else
			pfree(tally);
	}
	while (kept != nullptr) {
		Tally *tally = kept;
		kept = tally->next;
		tally->next = tallies;
		tallies = tally;
	}
}

static void
on_subtransaction_end(SubXactEvent event, SubTransactionId ended, SubTransactionId parent, void *)
{
	if (event == SUBXACT_EVENT_COMMIT_SUB)
		hand_to_parent(ended, parent);
	if (event == SUBXACT_EVENT_ABORT_SUB)
		undo_all(ended, parent);
}

void
register_tallies()
{
	RegisterXactCallback(on_transaction_end, nullptr);
	RegisterSubXactCallback(on_subtransaction_end, nullptr);
}

} // namespace queue_ext::stats
