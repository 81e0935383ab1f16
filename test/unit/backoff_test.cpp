// backoff_test.cpp - how long a failed job waits.

#include "queue/backoff.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

using queue_ext::queue::backoff;
using queue_ext::queue::backoff_ceiling;

namespace {

constexpr std::int64_t second = 1000000;
constexpr std::int64_t hour = 3600 * second;
constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max();

static_assert(backoff_ceiling(second, hour, 1) == second, "usable at compile time");

TEST(Backoff, DoublesWithEveryFailure)
{
	EXPECT_EQ(backoff_ceiling(second, hour, 1), second);
	EXPECT_EQ(backoff_ceiling(second, hour, 2), 2 * second);
	EXPECT_EQ(backoff_ceiling(second, hour, 3), 4 * second);
	EXPECT_EQ(backoff_ceiling(second, hour, 12), 2048 * second);
}

TEST(Backoff, StopsAtTheCap)
{
	EXPECT_EQ(backoff_ceiling(second, hour, 13), hour);
	EXPECT_EQ(backoff_ceiling(second, hour, 1000000), hour);
	EXPECT_EQ(backoff_ceiling(hour, second, 1), second);
	EXPECT_EQ(backoff_ceiling(3, 7, 2), 6);
	EXPECT_EQ(backoff_ceiling(3, 7, 3), 7);
}

TEST(Backoff, DoesNotOverflow)
{
	EXPECT_EQ(backoff_ceiling(1, longest, 64), longest);
	EXPECT_EQ(backoff_ceiling(longest, longest, 2), longest);
	EXPECT_EQ(backoff_ceiling(longest / 2 + 1, longest, 2), longest);
	EXPECT_GT(backoff(longest, longest, 3, 0.999999), 0);
}

TEST(Backoff, JitterTakesAwayHalfAtMost)
{
	for (int attempt = 1; attempt <= 20; attempt++) {
		const std::int64_t ceiling = backoff_ceiling(second, hour, attempt);
		EXPECT_EQ(backoff(second, hour, attempt, 0.0), ceiling);
		EXPECT_EQ(backoff(second, hour, attempt, 0.5), ceiling - ceiling / 4);
		EXPECT_GE(backoff(second, hour, attempt, 0.9999999), ceiling / 2);
	}
}

} // namespace
