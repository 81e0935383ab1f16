// cron_test.cpp - what cron expressions mean, and texts that are none.

#include "schedule/cron.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

using namespace queue_ext::schedule;

namespace {

// Days from 1970-01-01, counted a year and a month at a time: another way than date_of().
std::int64_t
day_of(int year, int month, int day)
{
	std::int64_t days = 0;
	for (int y = 1970; y < year; y++)
		days += cron::is_leap(y) ? 366 : 365;
	for (int m = 1; m < month; m++)
		days += m == 2 && !cron::is_leap(year) ? 28 : cron::longest(m);
	return days + day - 1;
}

std::int64_t
at(int year, int month, int day, int hour = 0, int minute = 0, int second = 0)
{
	return ((day_of(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
}

std::int64_t
next(const char *text, std::int64_t from)
{
	cron::Expression expression{};
	const cron::Fault fault = cron::parse_expression(text, std::strlen(text), &expression);
	EXPECT_EQ(fault.reason, nullptr) << text << ": " << fault.reason;
	std::int64_t moment = -1;
	EXPECT_TRUE(cron::next(expression, from, &moment)) << text;
	return moment;
}

// "field: the characters: the reason"
std::string
fault_of(const std::string &text)
{
	cron::Expression expression{};
	const cron::Fault fault = cron::parse_expression(text.data(), text.size(), &expression);
	if (fault.reason == nullptr)
		return "none";
	return std::string(fault.field == nullptr ? "all" : fault.field) + ": " +
		   text.substr(fault.start, fault.length) + ": " + fault.reason;
}

TEST(Cron, DatesAreThoseOfTheCalendar)
{
	for (int year = 1970; year < 2405; year++)
		for (int month = 1; month <= 12; month++) {
			const std::int64_t day = day_of(year, month, 1);
			const cron::Date first = cron::date_of(day);
			EXPECT_EQ(first.year, year);
			EXPECT_EQ(first.month, month);
			EXPECT_EQ(first.day, 1);
			EXPECT_NE(cron::date_of(day - 1).month, month);
		}
	EXPECT_EQ(cron::date_of(-1).year, 1969);
	EXPECT_EQ(cron::date_of(-719528).year, 0);
	EXPECT_EQ(cron::date_of(-719528).month, 1);
	EXPECT_EQ(cron::weekday_of(day_of(2026, 11, 22)), 0);
	EXPECT_EQ(cron::weekday_of(-4), 0);
}

TEST(Cron, FindsTheNextMinute)
{
	const std::int64_t now = at(2026, 11, 23, 10, 7, 30); // a Monday
	EXPECT_EQ(next("* * * * *", now), at(2026, 11, 23, 10, 8));
	EXPECT_EQ(next("* * * * *", at(2026, 11, 23, 10, 8)), at(2026, 11, 23, 10, 8));
	EXPECT_EQ(next("*/15 * * * *", now), at(2026, 11, 23, 10, 15));
	EXPECT_EQ(next("7 * * * *", now), at(2026, 11, 23, 11, 7));
	EXPECT_EQ(next("30 2 * * *", now), at(2026, 11, 24, 2, 30));
	EXPECT_EQ(next("59 23 31 12 *", now), at(2026, 12, 31, 23, 59));
	EXPECT_EQ(next("0 0 1 1 *", now), at(2027, 1, 1));
	EXPECT_EQ(next("0 9-17/4,20 * * *", now), at(2026, 11, 23, 13));
	EXPECT_EQ(next("5/20 * * * *", now), at(2026, 11, 23, 10, 25));
	EXPECT_EQ(next("  0\t12  *  *   *  ", now), at(2026, 11, 23, 12));
}

TEST(Cron, KnowsNames)
{
	const std::int64_t now = at(2026, 11, 23, 10, 7);
	EXPECT_EQ(next("0 0 * * SUN", now), at(2026, 11, 29));
	EXPECT_EQ(next("0 0 * * 7", now), at(2026, 11, 29));
	EXPECT_EQ(next("0 0 * * 0", now), at(2026, 11, 29));
	EXPECT_EQ(next("0 0 * * tue-Thu", now), at(2026, 11, 24));
	EXPECT_EQ(next("0 0 * * 5-7", now), at(2026, 11, 27));
	EXPECT_EQ(next("0 0 1 feb,Mar *", now), at(2027, 2, 1));
	EXPECT_EQ(next("@hourly", now), at(2026, 11, 23, 11));
	EXPECT_EQ(next("@Daily", now), at(2026, 11, 24));
	EXPECT_EQ(next("@midnight", now), at(2026, 11, 24));
	EXPECT_EQ(next(" @weekly ", now), at(2026, 11, 29));
	EXPECT_EQ(next("@monthly", now), at(2026, 12, 1));
	EXPECT_EQ(next("@yearly", now), at(2027, 1, 1));
	EXPECT_EQ(next("@annually", now), at(2027, 1, 1));
}

// If both fields of a day are restricted, either is enough.
TEST(Cron, TakesEitherDay)
{
	const std::int64_t now = at(2026, 11, 23, 10, 7);
	EXPECT_EQ(next("0 0 28 * fri", now), at(2026, 11, 27));
	EXPECT_EQ(next("0 0 26 * fri", now), at(2026, 11, 26));
	EXPECT_EQ(next("0 0 1-31 * fri", now), at(2026, 11, 27));
	EXPECT_EQ(next("0 0 30 * 0-6", now), at(2026, 11, 30));
	EXPECT_EQ(next("0 0 */10 * fri", now), at(2026, 11, 27));
	EXPECT_EQ(next("0 0 30 2 mon", now), at(2027, 2, 1));
}

TEST(Cron, FindsRareDays)
{
	EXPECT_EQ(next("0 0 29 2 *", at(2026, 11, 23)), at(2028, 2, 29));
	EXPECT_EQ(next("0 0 29 2 *", at(2096, 3, 1)), at(2104, 2, 29));
	EXPECT_EQ(next("0 0 31 4,5 *", at(2026, 11, 23)), at(2027, 5, 31));
	EXPECT_EQ(next("0 0 31 * *", at(2027, 2, 1)), at(2027, 3, 31));
}

TEST(Cron, SaysWhichFieldIsWrong)
{
	EXPECT_EQ(fault_of("* * * * *"), "none");
	EXPECT_EQ(fault_of("60 * * * *"), "minute: 60: The value is out of range.");
	EXPECT_EQ(fault_of("0 24 * * *"), "hour: 24: The value is out of range.");
	EXPECT_EQ(fault_of("0 0 0 * *"), "day of the month: 0: The value is out of range.");
	EXPECT_EQ(fault_of("0 0 * 13 *"), "month: 13: The value is out of range.");
	EXPECT_EQ(fault_of("0 0 * * 8"), "day of the week: 8: The value is out of range.");
	EXPECT_EQ(fault_of("0 0 * * fri-mon"), "day of the week: fri-mon: The range goes backwards.");
	EXPECT_EQ(fault_of("0 0 * * funday"),
			  "day of the week: funday: A number or a name of three letters is expected there.");
	EXPECT_EQ(fault_of("a * * * *"), "minute: a: A number is expected there.");
	EXPECT_EQ(fault_of("1,,2 * * * *"), "minute: 1,,2: A number is expected there.");
	EXPECT_EQ(fault_of("1- * * * *"), "minute: 1-: A number is expected there.");
	EXPECT_EQ(fault_of("*/0 * * * *"), "minute: */0: The step is no number, or out of range.");
	EXPECT_EQ(fault_of("*/60 * * * *"), "minute: */60: The step is no number, or out of range.");
	EXPECT_EQ(fault_of("*/ * * * *"), "minute: */: The step is no number, or out of range.");
	EXPECT_EQ(fault_of("1x * * * *"), "minute: 1x: It does not end there.");
	EXPECT_EQ(fault_of("*5 * * * *"), "minute: *5: It does not end there.");
	EXPECT_EQ(fault_of("0 0 L * *"), "day of the month: L: A number is expected there.");
	EXPECT_EQ(fault_of("00000 * * * *"), "minute: 00000: A number is expected there.");
	EXPECT_EQ(fault_of("99999999999999999999 * * * *"),
			  "minute: 99999999999999999999: A number is expected there.");
	EXPECT_EQ(fault_of("* * * *"), "all: * * * *: It has fewer than five fields.");
	EXPECT_EQ(fault_of("* * * * * *"), "all: * * * * * *: It has more than five fields.");
	EXPECT_EQ(fault_of(""), "all: : It has fewer than five fields.");
	EXPECT_EQ(fault_of("  "), "all: : It has fewer than five fields.");
	EXPECT_EQ(fault_of("@reboot"), "all: @reboot: There is no such name.");
	EXPECT_EQ(fault_of("@hourly *"), "all: @hourly *: There is no such name.");
	EXPECT_EQ(fault_of("@"), "all: @: There is no such name.");
}

TEST(Cron, KnowsThatADateNeverComes)
{
	const std::string reason = "No month that it names has such a day.";
	EXPECT_EQ(fault_of("0 0 30 2 *"), "day of the month: 30: " + reason);
	EXPECT_EQ(fault_of("0 0 31 apr,jun,9,11 *"), "day of the month: 31: " + reason);
	EXPECT_EQ(fault_of("0 0 30 2 0"), "none");
	EXPECT_EQ(fault_of("0 0 29 2 *"), "none");
}

// Each minute of some years is compared with the definition.
TEST(Cron, MissesNoMinute)
{
	const char *const texts[] = {"*/7 3-5 * * *", "0 12 13 * fri", "15,45 */5 29 2,3 *",
								 "59 23 * dec sun"};
	for (const char *text : texts) {
		cron::Expression expression{};
		ASSERT_EQ(cron::parse_expression(text, std::strlen(text), &expression).reason, nullptr);
		std::int64_t expected = 0;
		ASSERT_TRUE(cron::next(expression, at(2027, 1, 1), &expected));
		for (std::int64_t moment = at(2027, 1, 1); moment < at(2029, 1, 1); moment += 60) {
			const std::int64_t day = moment / 86400;
			const bool is_it = cron::has(expression.months, cron::date_of(day).month) &&
							   cron::is_day(expression, day, cron::date_of(day)) &&
							   cron::has(expression.hours, static_cast<int>(moment / 3600 % 24)) &&
							   cron::has(expression.minutes, static_cast<int>(moment / 60 % 60));
			ASSERT_EQ(is_it, moment == expected) << text << " at " << moment;
			if (is_it) {
				ASSERT_TRUE(cron::next(expression, moment + 1, &expected));
			}
		}
	}
}

} // namespace
