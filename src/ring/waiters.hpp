// waiters.hpp - the backends that wait for a job of a queue, in the order in which they came.
//
// Invariant: every backend has so many entries (most_lists), found by its number in the server and the entry's, each
// in one list at most; that an entry is in a list means only that its backend has not been told. The backend that
// takes an entry out wakes the entry's, once the spinlock is released. A backend that is woken without
// a reason looks, finds nothing, and waits again.
//
// Locking: a list, and the entries in it, belong to a ring and are written and read under its
// spinlock. Nothing here takes a lock, waits or raises. The bytes are not trusted: a list that does
// not make sense is taken to be empty.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::ring {

// In how many lists a backend may be at a time.
constexpr int most_lists = 64;

// The list of a ring. An entry stands in it by its number plus one, so that zeros are an empty list.
struct Waiters
{
	int32 first;
	int32 last; // the one that keeps time (waiting.hpp)
	int32 count;
	int32 place; // of the ring, for waiting_rings()

	uint32 news;         // counts the events that may have made jobs claimable
	int32 announced;     // backends to be woken at the end of this stay under the spinlock
	bool is_late;        // the last one is to be woken, too: its timer is set too late
	int32 claiming;      // woken, and about to take a candidate
	int32 credits;       // woken, and returned to clients that have not popped yet
	int32 new_credits;   // of these, since the last tick
	int32 lapses;        // ticks in a row that ended with credits unanswered
	bool is_ticking;     // the last one's timer is set for the credits
	TimestampTz look_at; // when that timer ends
	TimestampTz left_at; // when one that kept time left, to look for all
};

// Backends to be woken.
constexpr int most_woken = 32;
struct Woken
{
	int count;
	int32 backends[most_woken + 1]; // and the one that keeps time
};

// The size of the memory for the entries of all backends and for so many rings.
size_t waiters_size(int rings);

// Uses that memory from now on, in this backend; sets it to zeros if it is new.
void use_waiters(void *memory, int rings, bool is_new);

// Appends that entry of this backend. False if it is in a list already. is_claiming: the backend will claim when woken;
// is_one_of_several: perhaps from another queue, or held up by it.
bool enter(Waiters *waiters, int entry, bool is_claiming, bool is_one_of_several);

// Whether that entry of this backend is in a list, for the ring in whose list it may be.
bool is_in_list(int entry);

// Whether that entry of this backend is the last.
bool is_last(const Waiters *waiters, int entry);

// Takes it out. If it was the last, the one before is to be woken, as it is the last now.
void leave(Waiters *waiters, int entry);

// Takes as many as were announced out of the list, from its front, and the one that keeps time, if
// its timer is set too late. Returns false if there is more to do than *woken can hold.
bool take_announced(Waiters *waiters, Woken *woken);

// Takes all out of the list. Returns false if there are more than *woken can hold.
bool take_all(Waiters *waiters, Woken *woken);

// Wakes them.
void wake(const Woken &woken);

// The places of 32 rings, from that one on, in whose lists there are backends, as bits.
constexpr int rings_in_word = 32;
uint32 waiting_rings(int place);

} // namespace queue_ext::ring
