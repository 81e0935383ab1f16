// marks.hpp - since when jobs have been ready, by priority.
//
// Invariant: no job that was noted in the marks became ready before the ready_at of its priority, or
// before that of the rest where the priority has no mark. When the first job of a priority leaves, ready_at
// stays until the next look at the table (look.hpp). A job that has been ready since sure_at, or since
// spare_at, is there: of those that leave the run_at is noted. These two are finite.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::stats {

// The smallest priorities have marks of their own.
constexpr int most_marks = 16;

// Since when jobs have been ready; PG_INT64_MAX: there is none.
struct Since
{
	TimestampTz ready_at; // no job before
	TimestampTz sure_at;  // a job, which is there
	TimestampTz spare_at; // another one, which is there when that has left
};
constexpr Since since_never = {PG_INT64_MAX, PG_INT64_MAX, PG_INT64_MAX};

// Keeps the spare job of the first: so a job that no worker claims is found among many that are claimed.
inline Since
earlier(const Since &one, const Since &other)
{
	const TimestampTz sure_at = Min(one.sure_at, other.sure_at);
	const bool has_spare = one.spare_at != PG_INT64_MAX && one.spare_at != sure_at;
	return {Min(one.ready_at, other.ready_at), sure_at, has_spare ? one.spare_at : other.spare_at};
}

// Of the jobs of a priority.
struct Mark
{
	int16 priority;
	Since since;
};

// In the order of their priorities.
struct Marks
{
	int count;
	Mark marks[most_marks];
	Since rest; // of all larger priorities
};

// Priorities from one to another; none if from > to.
struct Priorities
{
	int32 from;
	int32 to;
};
constexpr Priorities no_priorities = {PG_INT32_MAX, PG_INT32_MIN};

inline void
widen(Priorities *priorities, const Priorities &more)
{
	priorities->from = Min(priorities->from, more.from);
	priorities->to = Max(priorities->to, more.to);
}

// Times from one to another; none if from > to.
struct Span
{
	TimestampTz from;
	TimestampTz to;

	bool has(TimestampTz time) const
	{
		return from <= time && time <= to;
	}
	bool is_empty() const
	{
		return from > to;
	}
};
constexpr Span no_times = {PG_INT64_MAX, PG_INT64_MIN};

inline void
widen(Span *span, const Span &more)
{
	span->from = Min(span->from, more.from);
	span->to = Max(span->to, more.to);
}

inline void
clear(Marks *marks)
{
	marks->count = 0;
	marks->rest = since_never;
}

// Adds jobs. If there is no room, the largest priority loses its mark to the rest.
inline void
lower(Marks *marks, int16 priority, const Since &since)
{
	int place = 0;
	while (place < marks->count && marks->marks[place].priority < priority)
		place++;
	if (place < marks->count && marks->marks[place].priority == priority) {
		Mark *mark = &marks->marks[place];
		mark->since = earlier(mark->since, since);
		return;
	}
	if (place == most_marks || (marks->rest.ready_at != PG_INT64_MAX && place == marks->count)) {
		marks->rest = earlier(marks->rest, since);
		return;
	}
	if (marks->count == most_marks) {
		marks->count--;
		marks->rest = earlier(marks->rest, marks->marks[marks->count].since);
	}
	memmove(&marks->marks[place + 1], &marks->marks[place], sizeof(Mark) * (marks->count - place));
	marks->marks[place] = {priority, since};
	marks->count++;
}

// A job that is there. One that has always been ready has no age, and leaves theirs to the others.
inline void
lower(Marks *marks, int16 priority, TimestampTz ready_at)
{
	const TimestampTz sure_at = TIMESTAMP_IS_NOBEGIN(ready_at) ? PG_INT64_MAX : ready_at;
	lower(marks, priority, Since{ready_at, sure_at, sure_at});
}

inline void
lower(Marks *marks, const Marks &more)
{
	for (int i = 0; i < more.count; i++)
		lower(marks, more.marks[i].priority, more.marks[i].since);
	marks->rest = earlier(marks->rest, more.rest);
}

// Without the jobs that are there: since when there may be jobs.
inline Marks
bounds_of(const Marks &marks)
{
	Marks bounds = marks;
	for (int i = 0; i < bounds.count; i++)
		bounds.marks[i].since = {marks.marks[i].since.ready_at, PG_INT64_MAX, PG_INT64_MAX};
	bounds.rest = {marks.rest.ready_at, PG_INT64_MAX, PG_INT64_MAX};
	return bounds;
}

// Jobs that were ready since then have left.
inline void
doubt(Since *since, const Span &left)
{
	if (left.has(since->spare_at))
		since->spare_at = PG_INT64_MAX;
	if (!left.has(since->sure_at))
		return;
	since->sure_at = since->spare_at;
	since->spare_at = PG_INT64_MAX;
}

// Jobs of these priorities have left, which were ready since these times.
inline void
doubt(Marks *marks, const Priorities &priorities, const Span &left)
{
	if (left.is_empty())
		return;
	for (int i = 0; i < marks->count; i++)
		if (priorities.from <= marks->marks[i].priority &&
			marks->marks[i].priority <= priorities.to)
			doubt(&marks->marks[i].since, left);
	if (marks->count == 0 || priorities.to > marks->marks[marks->count - 1].priority)
		doubt(&marks->rest, left);
}

} // namespace queue_ext::stats
