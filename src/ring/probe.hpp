// probe.hpp - how long a backend is in the sections in which it keeps others waiting, or may: under
// a ring's spinlock, and in the writes that lock a page of the table.
//
// Only a build with `make SECTIONS=1`, as bench/sections makes it, measures them: each backend logs
// the sums when it exits. In any other build measured() is its body and nothing else.

#pragma once

#include "../postgres.hpp"

#ifdef QUEUE_EXT_SECTIONS

#include "portability/instr_time.h"

namespace queue_ext::ring {

// Adds one stay in the section, in ticks of now().
void add_stay(const char *section, uint64 ticks);

// The time stamp counter where there is one, since reading a clock takes as long as the sections.
inline uint64
now()
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	instr_time time;
	INSTR_TIME_SET_CURRENT(time);
	return static_cast<uint64>(INSTR_TIME_GET_NANOSEC(time));
#endif
}

template <typename Body>
auto
measured(const char *section, Body &&body)
{
	const uint64 begun = now();
	const auto result = body();
	add_stay(section, now() - begun);
	return result;
}

} // namespace queue_ext::ring

#else

namespace queue_ext::ring {

constexpr uint64
now()
{
	return 0;
}

inline void
add_stay(const char *, uint64)
{}

template <typename Body>
auto
measured(const char *, Body &&body)
{
	return body();
}

} // namespace queue_ext::ring

#endif
