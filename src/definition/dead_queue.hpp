// dead_queue.hpp - the queue that takes another one's dead jobs.
//
// The registry has the table of the dead queue, which may be dropped, detached or given away at any time. So whether it can
// take jobs is looked up each time. Both tables have the same owner, as whom the jobs are moved.

#pragma once

#include "../postgres.hpp"

#include "definition.hpp"
#include "name.hpp"

namespace queue_ext::definition {

// What a queue has for a dead queue.
enum class DeadQueue {
	none,
	there,   // it can take jobs
	gone,    // there is no such queue any more
	foreign, // it has another owner
	old,     // its table has the first layout
};

// Reads the registry and the catalogs; takes no lock on the table.
DeadQueue dead_queue_of(const Definition *definition);

// The queue whose dead jobs are taken.
struct TakenQueue
{
	Oid source; // InvalidOid: it is yet to be made
	Oid owner;
	bool is_temporary;
	const char *name = nullptr; // of one that is yet to be made,
	Oid schema = InvalidOid;    // and where that will be
};

// The table of the managed queue of that name, which is to take dead jobs; InvalidOid for an empty name. Raises what
// open_queue() raises for a name; 55000 for an attached queue, one of the first layout, one with another owner, or a temporary
// one where the other is not; 22023 for the queue itself.
Oid find_dead_queue(const char *written, const TakenQueue &from);

// The same of what a comment has kept: InvalidOid where it is not that of a table that can take the jobs.
Oid find_kept_dead_queue(const char *written, Oid source);

// To be called before the queue is dropped or detached. Tells the caller of the queues whose dead queue it is, if there are
// any. Reads the whole registry.
void notice_end_of_dead_queue(const Definition *definition);

} // namespace queue_ext::definition
