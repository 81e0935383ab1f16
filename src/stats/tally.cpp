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

// Empties what was counted.
static void
forget(Tally *tally)
{
	tally->counts = {};
	clear(&tally->marks);
	tally->due = PG_INT64_MAX;
	tally->delayed = 0;
	tally->requeued = 0;
	tally->is_blind = false;
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
	tally->next = tallies;
	tallies = tally;
	return tally;
}

Tally *
tally_of(Definition *definition)
{
	return tally_at(place_of(definition));
}

Tally *
tally_of_table(Oid table)
{
	bool is_new;
	return tally_at(place_of(key_of_table(table), &is_new));
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
}

// Adds what the transaction has made of the jobs of a managed queue. The entry's spinlock must be
// held.
static void
change(Outlook *outlook, const Tally *tally)
{
	const Counts &counts = tally->counts;
	const int64 ended = counts.get(Counter::completed) + counts.get(Counter::failed) +
						counts.get(Counter::released) + counts.get(Counter::expired);
	const int64 gone =
		counts.get(Counter::completed) + counts.get(Counter::cancelled) + counts.get(Counter::dead);
	lower(&outlook->marks, tally->marks);
	lower(&outlook->recent, tally->marks);
	outlook->due = Min(outlook->due, tally->due);
	outlook->delayed += tally->delayed;
	outlook->scheduled += tally->delayed;
	outlook->leased = Max(0, outlook->leased + counts.get(Counter::claimed) - ended);
	outlook->unfinished =
		Max(0, outlook->unfinished + counts.get(Counter::sent) + tally->requeued - gone);
	outlook->is_whole &= !tally->is_blind;
	outlook->has_left |= counts.get(Counter::claimed) + gone > 0;
	outlook->is_counted &= !tally->is_blind;
	outlook->changes++;
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
	with_entry(tally->place, [&](Entry *entry) {
		add_counts(&entry->counts, tally->counts);
		if (entry->key.is_managed)
			change(&entry->outlook, tally);
	});
}

// Likewise after it has been prepared: nobody tells when its jobs are there. A look under way does
// not know of it.
static void
doubt(const Tally *tally)
{
	with_entry(tally->place, [](Entry *entry) {
		entry->outlook.is_whole = false;
		entry->outlook.is_counted = false;
		entry->outlook.looks++;
	});
}

// Likewise after an abort.
static void
undo(const Tally *tally)
{
	if (tally->is_new)
		give_up(tally->place);
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
	lower(&parent->marks, child->marks);
	parent->due = Min(parent->due, child->due);
	parent->delayed += child->delayed;
	parent->requeued += child->requeued;
	parent->is_blind |= child->is_blind;
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

static void
on_subtransaction_end(SubXactEvent event, SubTransactionId ended, SubTransactionId parent, void *)
{
	if (event == SUBXACT_EVENT_COMMIT_SUB)
		hand_to_parent(ended, parent);
	if (event != SUBXACT_EVENT_ABORT_SUB)
		return;
	while (tallies != nullptr && tallies->made_in == ended) {
		Tally *tally = tallies;
		undo(tally);
		tallies = tally->next;
		pfree(tally);
	}
}

void
register_tallies()
{
	RegisterXactCallback(on_transaction_end, nullptr);
	RegisterSubXactCallback(on_subtransaction_end, nullptr);
}

} // namespace queue_ext::stats
