// transaction_counters.cpp - see transaction_counters.hpp.

#include "../postgres.hpp"

#include "transaction_counters.hpp"

namespace queue_ext::stats {

using definition::Definition;

// Those of the current transaction, those of the innermost subtransaction first, in
// TopTransactionContext.
static TransactionCounters *all_counters = nullptr;

static bool
is_same(const Place &one, const Place &other)
{
	return one.entry == other.entry && one.number == other.number;
}

// The place's counters of that subtransaction, from that one on; null if there are none.
static TransactionCounters *
find_counters(TransactionCounters *from, const Place &place, SubTransactionId made_in)
{
	for (TransactionCounters *counters = from; counters != nullptr; counters = counters->next)
		if (counters->made_in == made_in && is_same(counters->place, place))
			return counters;
	return nullptr;
}

// Empties what was counted; not what a rollback has to undo.
static void
forget(TransactionCounters *counters)
{
	counters->counts = {};
	clear(&counters->marks);
	counters->claimed = none_left;
	counters->claims = 0;
	counters->left = none_left;
	counters->clock = no_clock;
	counters->due = PG_INT64_MAX;
	counters->delayed = 0;
	counters->requeued = 0;
	counters->removed = none_removed;
	counters->is_blind = false;
}

static void
forget_looks(TransactionCounters *counters)
{
	counters->has_looked = false;
	clear(&counters->former.bounds);
	counters->former.clock = no_clock;
	counters->former.is_whole = true;
}

static TransactionCounters *
counters_at(const Place &place)
{
	if (place.entry == nullptr)
		return nullptr;
	const SubTransactionId current = GetCurrentSubTransactionId();
	TransactionCounters *counters = find_counters(all_counters, place, current);
	if (counters != nullptr)
		return counters;
	counters = static_cast<TransactionCounters *>(
		MemoryContextAllocZero(TopTransactionContext, sizeof(TransactionCounters)));
	counters->place = place;
	counters->made_in = current;
	forget(counters);
	forget_looks(counters);
	counters->next = all_counters;
	all_counters = counters;
	return counters;
}

// Of what this session does nothing is known, nor what it leaves in the ring.
static TransactionCounters *
note_untracked(const Place &place)
{
	TransactionCounters *counters = counters_at(place);
	if (counters != nullptr) {
		counters->is_blind = true;
		counters->has_vain = true;
	}
	return nullptr;
}

TransactionCounters *
counters_of(Definition *definition)
{
	return is_on() ? counters_at(place_of(definition))
				   : note_untracked(untracked_place_of(definition));
}

TransactionCounters *
counters_of_table(Oid table)
{
	if (!is_on())
		return note_untracked(untracked_place_of(key_of_table(table)));
	return counters_at(place_of_table(table));
}

void
count(Definition *definition, Counter counter, int64 number)
{
	TransactionCounters *counters = number == 0 ? nullptr : counters_of(definition);
	if (counters != nullptr)
		counters->counts.add(counter, number);
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
	for (const TransactionCounters *counters = all_counters; counters != nullptr;
		 counters = counters->next)
		if (is_same(counters->place, place))
			found += counters->counts.get(counter);
	return found;
}

// The key can be read without the spinlock, as the transaction has a lock on the table.
int64
counted_by_trigger(Oid table)
{
	const Key key = key_of_table(table);
	int64 found = 0;
	for (const TransactionCounters *counters = all_counters; counters != nullptr;
		 counters = counters->next)
		if (counters->place.entry->key == key)
			found += counters->counts.get(Counter::sent);
	return found;
}

// What was counted before the change is of the queue that had the entry until then.
static void
note_change(const Key &key, Change change, bool is_empty)
{
	if (!is_on())
		(void) note_untracked(untracked_place_of(key));
	bool is_new;
	TransactionCounters *counters = counters_at(place_of(key, &is_new));
	if (counters == nullptr)
		return;
	counters->change = change;
	counters->is_empty = is_empty;
	counters->is_new |= is_new;
	forget(counters);
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
note_ready(TransactionCounters *counters, int16 priority, TimestampTz run_at, bool is_new)
{
	if (run_at <= GetCurrentStatementStartTimestamp() || run_at <= GetCurrentTimestamp()) {
		lower(&counters->marks, priority, run_at);
		return;
	}
	counters->due = Min(counters->due, run_at);
	counters->delayed += is_new;
	note_clock(counters, priority, run_at);
}

// Jobs that this transaction has made ready may be among them.
static void
add_left(TransactionCounters *counters, Left *all, const Left &left)
{
	widen(all, left);
	doubt(&counters->marks, left);
}

void
note_claim(TransactionCounters *counters, int16 priority, TimestampTz run_at)
{
	add_left(counters, &counters->claimed, {{priority, priority}, {run_at, run_at}});
	counters->claims++;
}

void
note_left(TransactionCounters *counters, int16 priority, TimestampTz run_at)
{
	add_left(counters, &counters->left, {{priority, priority}, {run_at, run_at}});
}

void
note_some_left(TransactionCounters *counters)
{
	add_left(counters, &counters->left, all_left);
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
note_removed(TransactionCounters *counters, const Removed &removed)
{
	counters->removed.ready += removed.ready;
	counters->removed.scheduled += removed.scheduled;
	counters->removed.leased += removed.leased;
	counters->removed.due = Min(counters->removed.due, removed.due);
	note_death(counters, removed.death);
	add_left(counters, &counters->left, removed.left);
}

void
note_death(TransactionCounters *counters, TimestampTz at)
{
	counters->removed.death = Min(counters->removed.death, at);
}

static void
add_former(Former *former, const Former &more)
{
	lower(&former->bounds, more.bounds);
	lower(&former->clock, more.clock);
	former->is_whole &= more.is_whole;
}

void
note_look(TransactionCounters *counters, const Estimate &before)
{
	counters->has_looked = true;
	add_former(&counters->former, {bounds_of(before.marks), before.clock, before.is_whole});
}

void
note_vain(TransactionCounters *counters)
{
	counters->has_vain = true;
}

void
note_clock(TransactionCounters *counters, int32 priority, TimestampTz at)
{
	lower(&counters->clock, {at, priority});
}

// Jobs may have come or left without a note.
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
change_marks(Marks *marks, const TransactionCounters *counters)
{
	doubt(marks, counters->claimed);
	doubt(marks, counters->left);
	lower(marks, counters->marks);
}

// Since when jobs are ready, after the transaction.
static void
change_ages(Estimate *estimate, const TransactionCounters *counters, TimestampTz now)
{
	Told *told = &estimate->told;
	change_marks(&estimate->marks, counters);
	change_marks(&told->marks, counters);
	widen(&told->claimed, counters->claimed);
	widen(&estimate->left, counters->left);
	widen(&told->left, counters->left);
	lower(&estimate->clock, counters->clock);
	lower(&told->clock, counters->clock);
	if (counters->claims > 0)
		estimate->claimed_at = Max(estimate->claimed_at, now);
}

// The first of the scheduled jobs may be among those that were removed, also by the transaction that sent it: then due
// is before that of the next one.
static void
change_due(Estimate *estimate, const TransactionCounters *counters)
{
	estimate->is_due_sure &= !counters->left.times.has(estimate->due);
	if (counters->due < estimate->due) {
		estimate->due = counters->due;
		estimate->is_due_sure = !counters->left.times.has(counters->due);
	}
	estimate->scheduled += counters->delayed - counters->removed.scheduled;
	if (estimate->is_counted && estimate->scheduled <= 0)
		estimate->due = PG_INT64_MAX;
}

// Commits are added up in any order: a number may be negative for a while.
static void
change_counts(Estimate *estimate, const TransactionCounters *counters)
{
	const Counts &counts = counters->counts;
	const Removed &removed = counters->removed;
	const int64 ended = counts.get(Counter::completed) + counts.get(Counter::failed) +
						counts.get(Counter::released) + counts.get(Counter::expired);
	estimate->leased += counts.get(Counter::claimed) - ended - removed.leased;
	estimate->unfinished += counts.get(Counter::sent) + counters->requeued -
							counts.get(Counter::completed) - counts.get(Counter::dead) -
							removed.ready - removed.scheduled - removed.leased;
}

// Adds what the transaction has made of the jobs of a managed queue. The entry's spinlock must be
// held.
static void
change(Estimate *estimate, const TransactionCounters *counters, TimestampTz now)
{
	change_ages(estimate, counters, now);
	change_due(estimate, counters);
	change_counts(estimate, counters);
	estimate->is_counted &= counters->removed.death > now && counters->removed.due > now;
	// Some claims were counted, and not noted one by one.
	if (counters->is_blind || counters->counts.get(Counter::claimed) > counters->claims)
		doubt(estimate);
	estimate->changes++;
}

// Must not raise: the transaction has committed.
static void
apply(const TransactionCounters *counters)
{
	if (counters->change == Change::ends) {
		give_up(counters->place);
		return;
	}
	if (counters->change == Change::begins)
		begin(counters->place, GetCurrentTimestamp(), counters->is_empty);
	// A look may have come after the commit, and before this, whose clock has found a job dead, or ready.
	const Removed &removed = counters->removed;
	const TimestampTz now = removed.death == PG_INT64_MAX && removed.due == PG_INT64_MAX
								? GetCurrentTransactionStopTimestamp()
								: GetCurrentTimestamp();
	with_entry(counters->place, [&](Entry *entry) {
		add_counts(&entry->counts, counters->counts);
		if (entry->key.is_managed)
			change(&entry->estimate, counters, now);
	});
}

// Must not raise: the transaction has been prepared, and its jobs will be there without a word. A look under
// way does not know of it.
static void
doubt(const TransactionCounters *counters)
{
	with_entry(counters->place, [](Entry *entry) {
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
undo(const TransactionCounters *counters)
{
	if (counters->is_new) {
		give_up(counters->place);
		return;
	}
	if (!counters->has_vain && !counters->has_looked)
		return;
	with_entry(counters->place, [&](Entry *entry) {
		Estimate *estimate = &entry->estimate;
		if (counters->has_vain) {
			estimate->left = all_left;
			estimate->told.left = all_left;
		}
		if (counters->has_looked)
			restore(estimate, counters->former);
	});
}

// The memory goes with TopTransactionContext.
static void
on_transaction_end(XactEvent event, void *)
{
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE)
		return;
	for (const TransactionCounters *counters = all_counters; counters != nullptr;
		 counters = counters->next)
		if (event == XACT_EVENT_COMMIT)
			apply(counters);
		else if (event == XACT_EVENT_ABORT)
			undo(counters);
		else
			doubt(counters);
	all_counters = nullptr;
}

// A subtransaction's counters come after its parent's.
static void
merge_into(TransactionCounters *parent, const TransactionCounters *child)
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

// Gives the parent what the subtransaction has counted; otherwise they would pile up in a loop of
// subtransactions.
static void
hand_to_parent(SubTransactionId ended, SubTransactionId parent)
{
	for (TransactionCounters **link = &all_counters;
		 *link != nullptr && (*link)->made_in == ended;) {
		TransactionCounters *child = *link;
		TransactionCounters *same = find_counters(child->next, child->place, parent);
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
is_kept_by_parent(TransactionCounters *counters, SubTransactionId parent)
{
	if (!counters->has_vain || counters->is_new)
		return false;
	TransactionCounters *same = find_counters(all_counters, counters->place, parent);
	if (same != nullptr) {
		same->has_vain = true;
		return false;
	}
	forget(counters);
	forget_looks(counters);
	counters->change = Change::none;
	counters->made_in = parent;
	return true;
}

static void
undo_all(SubTransactionId ended, SubTransactionId parent)
{
	TransactionCounters *kept = nullptr;
	while (all_counters != nullptr && all_counters->made_in == ended) {
		TransactionCounters *counters = all_counters;
		all_counters = counters->next;
		undo(counters);
		if (is_kept_by_parent(counters, parent)) {
			counters->next = kept;
			kept = counters;
		} else
			pfree(counters);
	}
	while (kept != nullptr) {
		TransactionCounters *counters = kept;
		kept = counters->next;
		counters->next = all_counters;
		all_counters = counters;
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
register_transaction_counters()
{
	RegisterXactCallback(on_transaction_end, nullptr);
	RegisterSubXactCallback(on_subtransaction_end, nullptr);
}

} // namespace queue_ext::stats
