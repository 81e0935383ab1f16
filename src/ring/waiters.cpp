// waiters.cpp - see waiters.hpp.

#include "../postgres.hpp"

#include "waiters.hpp"

#include "../compat.hpp"

namespace queue_ext::ring {

namespace {

// An entry of a backend. The neighbours are numbers plus one, like the ends of the list.
struct Waiter
{
	int32 next;
	int32 previous;
	bool is_in_list;
	bool is_claiming;
	bool is_one_of_several;
};

} // namespace

// Null in a backend that has no shared memory: it enters no list.
static Waiter *waiters_of_all = nullptr;
static pg_atomic_uint32 *words = nullptr;
static int word_count = 0;

// How many may be on their way to a job at a time: to wake a process takes about as long as to send a
// job, so each of these wakes the next.
constexpr int most_claiming = 2;

static size_t
entries_size()
{
	return MAXALIGN(sizeof(Waiter) * MaxBackends * most_lists);
}

static int
words_for(int rings)
{
	return (rings + rings_in_word - 1) / rings_in_word;
}

size_t
waiters_size(int rings)
{
	return entries_size() + MAXALIGN(sizeof(pg_atomic_uint32) * words_for(rings));
}

void
use_waiters(void *memory, int rings, bool is_new)
{
	if (is_new)
		memset(memory, 0, waiters_size(rings));
	waiters_of_all = static_cast<Waiter *>(memory);
	words = reinterpret_cast<pg_atomic_uint32 *>(static_cast<char *>(memory) + entries_size());
	word_count = words_for(rings);
	for (int i = 0; is_new && i < word_count; i++)
		pg_atomic_init_u32(&words[i], 0);
}

// The entry of that number plus one, or null.
static Waiter *
entry_of(int32 number)
{
	return number < 1 || number > MaxBackends * most_lists ? nullptr : &waiters_of_all[number - 1];
}

static int32
own_number(int entry)
{
	return compat::my_number() * most_lists + entry + 1;
}

static void
mark(const Waiters *waiters, bool has_any)
{
	const int word = waiters->place / rings_in_word;
	if (word < 0 || word >= word_count)
		return;
	const uint32 bit = 1U << (waiters->place % rings_in_word);
	if (has_any)
		pg_atomic_fetch_or_u32(&words[word], bit);
	else
		pg_atomic_fetch_and_u32(&words[word], ~bit);
}

static void
forget_all(Waiters *waiters)
{
	waiters->first = 0;
	waiters->last = 0;
	waiters->count = 0;
	waiters->announced = 0;
	waiters->is_late = false;
	mark(waiters, false);
}

bool
enter(Waiters *waiters, int entry, bool is_claiming, bool is_one_of_several)
{
	const int32 number = own_number(entry);
	Waiter *own = waiters_of_all == nullptr ? nullptr : entry_of(number);
	if (own == nullptr || own->is_in_list)
		return false;
	Waiter *last = entry_of(waiters->last);
	if (last == nullptr) {
		forget_all(waiters);
		waiters->first = number;
		mark(waiters, true);
	} else
		last->next = number;
	*own = {0, waiters->last, true, is_claiming, is_one_of_several};
	waiters->last = number;
	waiters->count++;
	return true;
}

bool
is_in_list(int entry)
{
	const Waiter *own = waiters_of_all == nullptr ? nullptr : entry_of(own_number(entry));
	return own != nullptr && own->is_in_list;
}

bool
is_last(const Waiters *waiters, int entry)
{
	return waiters->last == own_number(entry);
}

// Takes out the entry of that number.
static void
take_out(Waiters *waiters, int32 number)
{
	Waiter *entry = entry_of(number);
	Waiter *previous = entry_of(entry->previous);
	Waiter *next = entry_of(entry->next);
	if (previous == nullptr)
		waiters->first = next == nullptr ? 0 : entry->next;
	else
		previous->next = entry->next;
	if (next == nullptr)
		waiters->last = previous == nullptr ? 0 : entry->previous;
	else
		next->previous = entry->previous;
	entry->is_in_list = false;
	waiters->count--;
	if (waiters->first == 0 || waiters->last == 0 || waiters->count <= 0)
		forget_all(waiters);
}

void
leave(Waiters *waiters, int entry)
{
	const bool was_last = is_last(waiters, entry);
	take_out(waiters, own_number(entry));
	waiters->is_late |= was_last;
}

// Takes out the first, and copies its entry. 0 if the list makes no sense.
static int32
take_first(Waiters *waiters, Waiter *taken)
{
	const int32 number = waiters->first;
	const Waiter *first = entry_of(number);
	if (first == nullptr || !first->is_in_list) {
		forget_all(waiters);
		return 0;
	}
	*taken = *first;
	take_out(waiters, number);
	return number;
}

static void
add(Woken *woken, int32 number)
{
	woken->backends[woken->count++] = (number - 1) / most_lists;
}

bool
take_announced(Waiters *waiters, Woken *woken)
{
	while (waiters->announced > 0 && waiters->count > 0) {
		if (woken->count == most_woken)
			return false;
		// The others are woken by these.
		if (waiters->claiming >= most_claiming) {
			waiters->is_late |= !waiters->is_ticking;
			break;
		}
		Waiter taken;
		const int32 number = take_first(waiters, &taken);
		if (number == 0)
			break;
		add(woken, number);
		waiters->announced--;
		waiters->claiming += taken.is_claiming;
		waiters->credits += !taken.is_claiming;
		waiters->new_credits += !taken.is_claiming;
		// That client may never come, or another queue hold that backend up: the one that keeps time is to look.
		if (!taken.is_claiming || taken.is_one_of_several)
			waiters->is_late |= !waiters->is_ticking;
	}
	waiters->announced = 0;
	if (waiters->is_late && entry_of(waiters->last) != nullptr)
		add(woken, waiters->last);
	waiters->is_late = false;
	return true;
}

bool
take_all(Waiters *waiters, Woken *woken)
{
	while (waiters->count > 0) {
		if (woken->count == most_woken)
			return false;
		Waiter taken;
		const int32 number = take_first(waiters, &taken);
		if (number != 0)
			add(woken, number);
	}
	waiters->claiming = 0;
	waiters->credits = 0;
	return true;
}

void
wake(const Woken &woken)
{
	for (int i = 0; i < woken.count; i++)
		compat::set_latch_of(woken.backends[i]);
}

uint32
waiting_rings(int place)
{
	const int word = place / rings_in_word;
	return word >= 0 && word < word_count ? pg_atomic_read_u32(&words[word]) : 0;
}

} // namespace queue_ext::ring
