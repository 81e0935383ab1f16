// marks.hpp - since when jobs have been ready, by priority.
//
// Invariant: no job that the marks were told of became ready before the mark of its priority, or
// before rest where the priority has none. They are a lower bound: jobs leave without being told,
// until someone looks at the table again (look.hpp).

#pragma once

#include "../postgres.hpp"

namespace queue_ext::stats {

// The smallest priorities have marks of their own.
constexpr int most_marks = 16;

// The earliest time from which a job of the priority has been ready.
struct Mark
{
	int16 priority;
	TimestampTz ready_at;
};

// In the order of their priorities.
struct Marks
{
	int count;
	Mark marks[most_marks];
	TimestampTz rest; // the same of all larger priorities; PG_INT64_MAX: none
};

inline void
clear(Marks *marks)
{
	marks->count = 0;
	marks->rest = PG_INT64_MAX;
}

// Adds a job. If there is no room, the largest priority loses its mark to the rest.
inline void
lower(Marks *marks, int16 priority, TimestampTz ready_at)
{
	int place = 0;
	while (place < marks->count && marks->marks[place].priority < priority)
		place++;
	if (place < marks->count && marks->marks[place].priority == priority) {
		Mark *mark = &marks->marks[place];
		mark->ready_at = Min(mark->ready_at, ready_at);
		return;
	}
	if (place == most_marks || (marks->rest != PG_INT64_MAX && place == marks->count)) {
		marks->rest = Min(marks->rest, ready_at);
		return;
	}
	if (marks->count == most_marks) {
		marks->count--;
		marks->rest = Min(marks->rest, marks->marks[marks->count].ready_at);
	}
	memmove(&marks->marks[place + 1], &marks->marks[place], sizeof(Mark) * (marks->count - place));
	marks->marks[place] = {priority, ready_at};
	marks->count++;
}

inline void
lower(Marks *marks, const Marks &more)
{
	for (int i = 0; i < more.count; i++)
		lower(marks, more.marks[i].priority, more.marks[i].ready_at);
	marks->rest = Min(marks->rest, more.rest);
}

// The earliest of all; PG_INT64_MAX: there is none.
inline TimestampTz
earliest(const Marks &marks)
{
	TimestampTz found = marks.rest;
	for (int i = 0; i < marks.count; i++)
		found = Min(found, marks.marks[i].ready_at);
	return found;
}

} // namespace queue_ext::stats
