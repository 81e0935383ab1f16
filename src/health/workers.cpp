// workers.cpp - see workers.hpp.

#include "../postgres.hpp"

#include "workers.hpp"

#include "../claim/choice.hpp"
#include "../ring/shared_memory.hpp"

namespace queue_ext::health {

using ring::Ring;

namespace {

// Several queues may be on one table.
struct Entry
{
	Oid table;
	List *workers;
};

} // namespace

static Workers *
find_in(const List *list, const char *queue)
{
	ListCell *cell;
	foreach (cell, list) {
		auto *workers = static_cast<Workers *>(lfirst(cell));
		if (strcmp(NameStr(workers->queue), queue) == 0)
			return workers;
	}
	return nullptr;
}

static void
add(HTAB *by_table, const Ring &ring)
{
	bool is_found;
	auto *entry =
		static_cast<Entry *>(hash_search(by_table, &ring.key.table, HASH_ENTER, &is_found));
	if (!is_found)
		entry->workers = NIL;
	Workers *workers = find_in(entry->workers, NameStr(ring.key.queue));
	if (workers == nullptr) {
		workers = static_cast<Workers *>(palloc0(sizeof(Workers)));
		workers->queue = ring.key.queue;
		entry->workers = lappend(entry->workers, workers);
	}
	workers->came_at = Max(workers->came_at, ring.used_at);
	workers->waiting += ring.waiters.count;
	workers->sweep_cost_us = Max(workers->sweep_cost_us, ring.sweep_cost_us);
	const char *tid = claim::name_of(claim::Path::tid);
	if (strncmp(ring.path, tid, strlen(tid)) == 0) {
		workers->is_by_tid = true;
		strlcpy(workers->path, ring.path, sizeof(workers->path));
	}
}

// A queue without a ring of its own is none without workers if others have taken the rings.
AllWorkers
find_workers()
{
	HASHCTL control{};
	control.keysize = sizeof(Oid);
	control.entrysize = sizeof(Entry);
	control.hcxt = CurrentMemoryContext;
	HTAB *by_table =
		hash_create("queue_ext workers", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	const int count = ring::ring_count();
	int used = 0;
	auto *ring = static_cast<Ring *>(palloc(sizeof(Ring)));
	for (int place = 0; place < count; place++) {
		CHECK_FOR_INTERRUPTS();
		const bool is_of_this = copy_ring(place, ring);
		used += OidIsValid(ring->key.database) ? 1 : 0;
		if (is_of_this)
			add(by_table, *ring);
	}
	pfree(ring);
	return {by_table, used > count / 2};
}

const Workers *
workers_of(const AllWorkers &all, Oid table, const char *queue)
{
	const auto *entry =
		static_cast<const Entry *>(hash_search(all.by_table, &table, HASH_FIND, nullptr));
	return entry == nullptr ? nullptr : find_in(entry->workers, queue);
}

} // namespace queue_ext::health
