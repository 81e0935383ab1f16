// sources.hpp - the queues of a call that names several.

#pragma once

#include "../postgres.hpp"

#include "../claim/request.hpp"
#include "../definition/definition.hpp"
#include "../ring/waiters.hpp"

namespace queue_ext::queue {

// A queue of the call.
struct Source
{
	const text *name; // as the caller has it; outlives a commit
	int number;       // its place in the caller's array, among those that differ
	int64 weight;     // 0: there are none
	definition::Definition *definition;
	double place; // where it is asked: the smallest is the first
};

struct Sources
{
	int count;
	Source all[ring::most_lists];
};

// Sets the values of a row: the queue's name, and behind it the job's, of which there are so many.
inline void
set_row(const Source &source, TupleTableSlot *job, int count, Datum *values, bool *nulls)
{
	slot_getallattrs(job);
	values[0] = PointerGetDatum(source.name);
	nulls[0] = false;
	memcpy(&values[1], job->tts_values, sizeof(Datum) * count);
	memcpy(&nulls[1], job->tts_isnull, sizeof(bool) * count);
}

// Reads argument n, the names, and argument weights, which may be null. Raises 22004, 2202E, 22023, and 54000 for more
// than there is room for.
void read_sources(FunctionCallInfo fcinfo, int n, int weights, Sources *sources);

// Opens all queues, in the order of the array, so that every call raises for one that cannot be used, and returns them
// in the order in which they are to be asked, which is drawn where they have weights. A queue that is named twice is
// there once, with both weights. No definition changes after that, as their tables are locked. Raises what opening a
// queue does, 42809 for an attached one, and what check_kinds() does.
Sources open_sources(const Sources &sources, const claim::Request &request);

} // namespace queue_ext::queue
