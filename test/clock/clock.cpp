// clock.cpp - preloaded into a server, this shows it a clock that a test sets: see Clock.pm.
//
// PostgreSQL asks for the time in signal handlers, too. So nothing here opens a file, allocates or locks: what
// the clock is ahead by stands in a file that is mapped when the process starts. A step takes effect at once.
// How fast time passes, and the monotonic clock, are left alone.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

// Seconds; null without a file.
std::atomic<std::int64_t> *ahead_by;

__attribute__((constructor)) void
map_clock()
{
	const char *file = std::getenv("TEST_CLOCK");
	int fd = file ? open(file, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	void *mapped = mmap(nullptr, sizeof(*ahead_by), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped != MAP_FAILED)
		ahead_by = static_cast<std::atomic<std::int64_t> *>(mapped);
}

} // namespace

// The C library declares these as never throwing.
extern "C" int
clock_gettime(clockid_t clock, timespec *now) noexcept
{
	if (syscall(SYS_clock_gettime, clock, now) != 0)
		return -1;
	if (ahead_by && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		now->tv_sec += ahead_by->load(std::memory_order_relaxed);
	return 0;
}

extern "C" int
gettimeofday(timeval *now, void *) noexcept
{
	timespec exact;
	if (clock_gettime(CLOCK_REALTIME, &exact) != 0)
		return -1;
	now->tv_sec = exact.tv_sec;
	now->tv_usec = exact.tv_nsec / 1000;
	return 0;
}

extern "C" time_t
time(time_t *now) noexcept
{
	timespec exact;
	if (clock_gettime(CLOCK_REALTIME, &exact) != 0)
		return -1;
	if (now)
		*now = exact.tv_sec;
	return exact.tv_sec;
}
