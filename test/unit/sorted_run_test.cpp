// sorted_run_test.cpp - searching the candidates of a ring, and merging what becomes claimable into them.

#include "ring/sorted_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

using queue_ext::ring::Added;
using queue_ext::ring::find_first;
using queue_ext::ring::merge_runs;
using queue_ext::ring::MergedRun;

namespace {

struct Element
{
	int key;
	int place;

	int sort_key() const
	{
		return key;
	}
	bool is_at_place_of(const Element &other) const
	{
		return place == other.place;
	}
	bool operator==(const Element &other) const
	{
		return key == other.key && place == other.place;
	}
};

using Elements = std::vector<Element>;

void
PrintTo(const Element &element, std::ostream *stream)
{
	*stream << element.key << '@' << element.place;
}

// The run, and the first element for which there was no room, if any.
std::pair<Elements, Elements>
merge(const Elements &old, const Elements &added, Added kind, int room)
{
	constexpr Element untouched{-1, -1};
	Elements merged(room + 1, untouched);
	const MergedRun<Element> result = merge_runs(
		[&](int i) -> const Element & { return old.at(i); }, static_cast<int>(old.size()),
		added.data(), static_cast<int>(added.size()), kind, merged.data(), room);
	EXPECT_EQ(merged.back(), untouched) << "written beyond the room";
	Elements rest;
	if (result.rest != nullptr)
		rest.push_back(*result.rest);
	merged.resize(result.count);
	return {merged, rest};
}

// One after the other: what the ring did before, and what one pass must come to.
Elements
insert_one_by_one(Elements run, const Elements &added, Added kind)
{
	for (const Element &element : added) {
		const auto twins = std::equal_range(
			run.begin(), run.end(), element,
			[](const Element &one, const Element &other) { return one.key < other.key; });
		if (kind == Added::newest && twins.first != twins.second) {
			*twins.first = element;
			run.erase(twins.first + 1, twins.second);
		} else if (std::find(twins.first, twins.second, element) == twins.second)
			run.insert(twins.first, element);
	}
	return run;
}

constexpr int plenty = 100;

TEST(FindFirst, FindsTheFirstIndexThatIsNotBefore)
{
	for (int low = 0; low < 4; low++)
		for (int high = low; high < 9; high++)
			for (int first = low; first <= high; first++)
				EXPECT_EQ(find_first(low, high, [&](int i) { return i < first; }), first);
}

TEST(SortedRun, KeepsTheOrder)
{
	const auto [merged, rest] =
		merge({{1, 1}, {4, 4}, {9, 9}}, {{0, 0}, {5, 5}, {10, 10}}, Added::newest, plenty);
	EXPECT_EQ(merged, (Elements{{0, 0}, {1, 1}, {4, 4}, {5, 5}, {9, 9}, {10, 10}}));
	EXPECT_TRUE(rest.empty());
}

TEST(SortedRun, TakesNothing)
{
	EXPECT_EQ(merge({}, {}, Added::any, plenty).first, Elements{});
	EXPECT_EQ(merge({{1, 1}}, {}, Added::any, plenty).first, (Elements{{1, 1}}));
	EXPECT_EQ(merge({}, {{1, 1}}, Added::newest, plenty).first, (Elements{{1, 1}}));
}

TEST(SortedRun, TheNewestVersionReplacesAllOthers)
{
	EXPECT_EQ(merge({{1, 1}, {2, 5}, {2, 6}, {3, 3}}, {{2, 7}}, Added::newest, plenty).first,
			  (Elements{{1, 1}, {2, 7}, {3, 3}}));
	EXPECT_EQ(merge({{2, 5}}, {{2, 7}, {2, 8}}, Added::newest, plenty).first, (Elements{{2, 8}}));
	EXPECT_EQ(merge({{2, 5}, {2, 6}}, {{3, 3}}, Added::newest, plenty).first,
			  (Elements{{2, 5}, {2, 6}, {3, 3}}));
}

TEST(SortedRun, AnyVersionStandsBesideOthers)
{
	EXPECT_EQ(merge({{2, 5}}, {{2, 7}}, Added::any, plenty).first, (Elements{{2, 7}, {2, 5}}));
	EXPECT_EQ(merge({{2, 5}}, {{2, 5}}, Added::any, plenty).first, (Elements{{2, 5}}));
}

TEST(SortedRun, TellsWhatHasNoRoom)
{
	const Elements old{{1, 1}, {3, 3}, {5, 5}};
	auto [merged, rest] = merge(old, {{2, 2}, {4, 4}}, Added::newest, 3);
	EXPECT_EQ(merged, (Elements{{1, 1}, {2, 2}, {3, 3}}));
	EXPECT_EQ(rest, (Elements{{4, 4}}));
	std::tie(merged, rest) = merge(old, {{2, 2}}, Added::newest, 3);
	EXPECT_EQ(rest, (Elements{{5, 5}}));
	std::tie(merged, rest) = merge(old, {{3, 7}}, Added::newest, 3);
	EXPECT_EQ(merged, (Elements{{1, 1}, {3, 7}, {5, 5}}));
	EXPECT_TRUE(rest.empty());
	std::tie(merged, rest) = merge({}, {{1, 1}}, Added::any, 0);
	EXPECT_EQ(rest, (Elements{{1, 1}}));
}

TEST(SortedRun, IsWhatInsertingOneByOneComesTo)
{
	constexpr int rounds = 20000;
	std::mt19937 random(7);
	const auto up_to = [&](int most) {
		return std::uniform_int_distribution<int>(0, most)(random);
	};
	const auto before = [](const Element &one, const Element &other) {
		return one.key < other.key;
	};
	for (int round = 0; round < rounds; round++) {
		const Added kind = up_to(1) == 0 ? Added::newest : Added::any;
		const int keys = 1 + up_to(30);
		// Each row once in either run: in the one to be added always.
		const auto make = [&](int count) {
			Elements run;
			for (int i = 0; i < count; i++)
				run.push_back({up_to(keys), up_to(3)});
			std::stable_sort(run.begin(), run.end(), before);
			run.erase(std::unique(run.begin(), run.end(),
								  [](const Element &one, const Element &other) {
									  return one.key == other.key;
								  }),
					  run.end());
			return run;
		};
		const Elements old = make(up_to(20));
		const Elements added = make(up_to(20));
		Elements expected = insert_one_by_one(old, added, kind);
		const int room = up_to(25);
		const auto [merged, rest] = merge(old, added, kind, room);
		const Elements over(expected.begin() + std::min<std::size_t>(room, expected.size()),
							expected.begin() + std::min<std::size_t>(room + 1, expected.size()));
		expected.resize(std::min<std::size_t>(room, expected.size()));
		ASSERT_EQ(merged, expected) << "in round " << round;
		ASSERT_EQ(rest, over) << "in round " << round;
	}
}

} // namespace
