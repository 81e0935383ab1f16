// cron.hpp - cron expressions, which name minutes of days.
//
// Free of PostgreSQL, and of time zones: a moment is a number of seconds since 1970-01-01 00:00 on
// the clock of some place, in the Gregorian calendar. Nothing here allocates.
//
// An expression has five fields: minute, hour, day of the month, month, day of the week. A field is a
// list, with commas, of *, a value, or a range of values, each with a step, as in "*/15" or
// "mon-fri"; "10/15" is 10-59/15. Months and days of the week also have names; Sunday is 0 and 7. Or
// it is @hourly, @daily, @midnight, @weekly, @monthly, @yearly or @annually. If neither field of a day
// has all values, a day is meant that either has; otherwise one that both have.
//
// Example:
//     cron::Expression expression;
//     const cron::Fault fault = cron::parse_expression("30 2 * * mon", 12, &expression);
//     if (fault.reason == nullptr && cron::next(expression, now, &moment)) ...

#pragma once

#include <cstddef>
#include <cstdint>

namespace queue_ext::schedule::cron {

// The values of each field, as bits: bit 3 of days is the third of the month. Of weekdays bit 0 is
// Sunday.
struct Expression
{
	std::uint64_t minutes;
	std::uint32_t hours;
	std::uint32_t days;
	std::uint32_t months;
	std::uint32_t weekdays;
};

// Why an expression is refused, and where the reason stands in it.
struct Fault
{
	const char *reason; // a sentence; null: nothing
	const char *field;  // the field's name, or null: it is the expression as a whole
	std::size_t start;  // the characters that are meant
	std::size_t length;
};

struct Field
{
	const char *name;
	int lowest;
	int highest;
	const char *names; // of the values from lowest on, three letters each; null: none
};

constexpr int field_count = 5;
constexpr Field fields[field_count] = {
	{"minute", 0, 59, nullptr},
	{"hour", 0, 23, nullptr},
	{"day of the month", 1, 31, nullptr},
	{"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
	{"day of the week", 0, 7, "sunmontuewedthufrisat"},
};

constexpr std::uint64_t
bits(int lowest, int highest)
{
	std::uint64_t result = 0;
	for (int i = lowest; i <= highest; i++)
		result |= std::uint64_t{1} << i;
	return result;
}

constexpr std::uint32_t all_hours = static_cast<std::uint32_t>(bits(0, 23));
constexpr std::uint32_t all_days = static_cast<std::uint32_t>(bits(1, 31));
constexpr std::uint32_t all_months = static_cast<std::uint32_t>(bits(1, 12));
constexpr std::uint32_t all_weekdays = static_cast<std::uint32_t>(bits(0, 6));

constexpr bool
has(std::uint64_t set, int value)
{
	return ((set >> value) & 1) != 0;
}

constexpr bool
is_space(char character)
{
	return character == ' ' || character == '\t';
}

constexpr char
to_lower(char character)
{
	return character >= 'A' && character <= 'Z' ? static_cast<char>(character - 'A' + 'a')
												: character;
}

// Compares without regard to case. "word" is lower case.
constexpr bool
is_word(const char *text, std::size_t length, const char *word)
{
	for (std::size_t i = 0; i < length; i++)
		if (word[i] == '\0' || to_lower(text[i]) != word[i])
			return false;
	return word[length] == '\0';
}

// The characters of one field that are still to be read.
struct Reader
{
	const char *text;
	std::size_t position;
	std::size_t end;

	constexpr bool is_at(char character) const
	{
		return position < end && text[position] == character;
	}
	constexpr bool skip(char character)
	{
		const bool is_it = is_at(character);
		position += is_it ? 1 : 0;
		return is_it;
	}
};

// Reads a number of at most four digits. False, and nothing read, if there is none.
constexpr bool
read_digits(Reader *reader, int *value)
{
	constexpr std::size_t most_digits = 4;
	const std::size_t start = reader->position;
	*value = 0;
	while (reader->position < reader->end && reader->position - start <= most_digits &&
		   reader->text[reader->position] >= '0' && reader->text[reader->position] <= '9')
		*value = *value * 10 + (reader->text[reader->position++] - '0');
	const std::size_t digits = reader->position - start;
	return digits > 0 && digits <= most_digits;
}

// Reads the name of a value. False, and nothing read, if there is none.
constexpr bool
read_name(Reader *reader, const Field &field, int *value)
{
	constexpr std::size_t name_length = 3;
	if (field.names == nullptr || reader->end - reader->position < name_length)
		return false;
	for (int i = 0; field.names[name_length * i] != '\0'; i++) {
		bool is_it = true;
		for (std::size_t j = 0; j < name_length; j++)
			is_it = is_it && to_lower(reader->text[reader->position + j]) ==
								 field.names[name_length * i + j];
		if (is_it) {
			*value = field.lowest + i;
			reader->position += name_length;
			return true;
		}
	}
	return false;
}

// Reads a value of the field. Returns the fault, a sentence, or null.
constexpr const char *
read_value(Reader *reader, const Field &field, int *value)
{
	if (!read_name(reader, field, value) && !read_digits(reader, value))
		return field.names == nullptr ? "A number is expected there."
									  : "A number or a name of three letters is expected there.";
	if (*value < field.lowest || *value > field.highest)
		return "The value is out of range.";
	return nullptr;
}

// Reads one element of a field's list, and adds its values to the set. Returns the fault, a sentence, or null.
constexpr const char *
read_element(Reader *reader, const Field &field, std::uint64_t *set)
{
	int first = field.lowest;
	int last = field.highest;
	int step = 1;
	const bool is_all = reader->skip('*');
	if (is_all && field.highest == 7) // Sunday has two numbers
		last = 6;
	if (!is_all) {
		const char *reason = read_value(reader, field, &first);
		if (reason != nullptr)
			return reason;
		last = first;
		const bool is_range = reader->skip('-');
		if (is_range)
			reason = read_value(reader, field, &last);
		else if (reader->is_at('/'))
			last = field.highest == 7 ? 6 : field.highest;
		if (reason != nullptr)
			return reason;
		if (last < first)
			return is_range ? "The range goes backwards." : "The value is out of range.";
	}
	if (reader->skip('/') && (!read_digits(reader, &step) || step < 1 || step > field.highest))
		return "The step is no number, or out of range.";
	for (int value = first; value <= last; value += step)
		*set |= std::uint64_t{1} << (field.highest == 7 && value == 7 ? 0 : value);
	return nullptr;
}

// Reads a field, which is not empty, into the set. Returns the fault, a sentence, or null.
constexpr const char *
read_field(Reader *reader, const Field &field, std::uint64_t *set)
{
	*set = 0;
	do {
		const char *reason = read_element(reader, field, set);
		if (reason != nullptr)
			return reason;
	} while (reader->skip(','));
	return reader->position == reader->end ? nullptr : "It does not end there.";
}

// A name for an expression.
struct Nickname
{
	const char *name;
	Expression expression;
};

constexpr Nickname nicknames[] = {
	{"@hourly", {1, all_hours, all_days, all_months, all_weekdays}},
	{"@daily", {1, 1, all_days, all_months, all_weekdays}},
	{"@midnight", {1, 1, all_days, all_months, all_weekdays}},
	{"@weekly", {1, 1, all_days, all_months, 1}},
	{"@monthly", {1, 1, 2, all_months, all_weekdays}},
	{"@yearly", {1, 1, 2, 2, all_weekdays}},
	{"@annually", {1, 1, 2, 2, all_weekdays}},
};

// The most days that the month may have.
constexpr int
longest(int month)
{
	return month == 2 ? 29 : month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

// Whether there is a day that the expression means.
constexpr bool
has_days(const Expression &expression)
{
	if (expression.weekdays != all_weekdays)
		return true;
	for (int month = 1; month <= 12; month++)
		if (has(expression.months, month) && (expression.days & bits(1, longest(month))) != 0)
			return true;
	return false;
}

// Reads an expression. Spaces around fields do not matter. The fault is of the first field that has
// one.
constexpr Fault
parse_expression(const char *text, std::size_t length, Expression *expression)
{
	std::size_t start = 0;
	while (length > 0 && is_space(text[length - 1]))
		length--;
	while (start < length && is_space(text[start]))
		start++;
	if (start < length && text[start] == '@') {
		for (const Nickname &nickname : nicknames)
			if (is_word(text + start, length - start, nickname.name)) {
				*expression = nickname.expression;
				return {};
			}
		return {"There is no such name.", nullptr, start, length - start};
	}
	std::uint64_t sets[field_count] = {};
	std::size_t starts[field_count] = {};
	std::size_t lengths[field_count] = {};
	Reader reader{text, start, start};
	for (int i = 0; i < field_count; i++) {
		while (reader.position < length && is_space(text[reader.position]))
			reader.position++;
		if (reader.position == length)
			return {"It has fewer than five fields.", nullptr, 0, length};
		const std::size_t begin = reader.position;
		reader.end = begin;
		while (reader.end < length && !is_space(text[reader.end]))
			reader.end++;
		const char *reason = read_field(&reader, fields[i], &sets[i]);
		if (reason != nullptr)
			return {reason, fields[i].name, begin, reader.end - begin};
		starts[i] = begin;
		lengths[i] = reader.end - begin;
	}
	if (reader.position != length)
		return {"It has more than five fields.", nullptr, 0, length};
	*expression = {sets[0], static_cast<std::uint32_t>(sets[1]),
				   static_cast<std::uint32_t>(sets[2]), static_cast<std::uint32_t>(sets[3]),
				   static_cast<std::uint32_t>(sets[4])};
	if (!has_days(*expression))
		return {"No month that it names has such a day.", fields[2].name, starts[2], lengths[2]};
	return {};
}

constexpr std::int64_t
floor_divide(std::int64_t value, std::int64_t divisor)
{
	return value / divisor - (value % divisor < 0 ? 1 : 0);
}

struct Date
{
	std::int64_t year;
	int month;
	int day;
};

// The date of a day, which counts from 1970-01-01. (By eras of 400 years that begin in March, as in
// Howard Hinnant's "chrono-compatible low-level date algorithms".)
constexpr Date
date_of(std::int64_t day)
{
	day += 719468;
	const std::int64_t era = floor_divide(day, 146097);
	const auto of_era = static_cast<int>(day - era * 146097);
	const int year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	const int of_year = of_era - (365 * year + year / 4 - year / 100);
	const int month = (5 * of_year + 2) / 153;
	const int calendar_month = month < 10 ? month + 3 : month - 9;
	return {year + era * 400 + (calendar_month <= 2 ? 1 : 0), calendar_month,
			of_year - (153 * month + 2) / 5 + 1};
}

constexpr bool
is_leap(std::int64_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

// 1970-01-01 was a Thursday.
constexpr int
weekday_of(std::int64_t day)
{
	return static_cast<int>(day + 4 - floor_divide(day + 4, 7) * 7);
}

constexpr bool
is_day(const Expression &expression, std::int64_t day, const Date &date)
{
	const bool is_of_month = has(expression.days, date.day);
	const bool is_of_week = has(expression.weekdays, weekday_of(day));
	return expression.days != all_days && expression.weekdays != all_weekdays
			   ? is_of_month || is_of_week
			   : is_of_month && is_of_week;
}

// The first minute of a day, from that one on. False if there is none.
constexpr bool
minute_from(const Expression &expression, int from, int *minute)
{
	for (int hour = from / 60; hour < 24; hour++) {
		if (!has(expression.hours, hour))
			continue;
		for (int i = hour == from / 60 ? from % 60 : 0; i < 60; i++)
			if (has(expression.minutes, i)) {
				*minute = hour * 60 + i;
				return true;
			}
	}
	return false;
}

// The first moment that the expression means, not before "from". False if there is none within nine
// years: leap years may be eight years apart.
constexpr bool
next(const Expression &expression, std::int64_t from, std::int64_t *moment)
{
	constexpr std::int64_t minutes_per_day = std::int64_t{24} * 60;
	constexpr std::int64_t longest_wait = std::int64_t{9} * 366;
	const std::int64_t from_minute = -floor_divide(-from, 60);
	std::int64_t day = floor_divide(from_minute, minutes_per_day);
	auto minute = static_cast<int>(from_minute - day * minutes_per_day);
	for (const std::int64_t last = day + longest_wait; day <= last; minute = 0) {
		const Date date = date_of(day);
		if (!has(expression.months, date.month)) {
			const int days = date.month == 2 && !is_leap(date.year) ? 28 : longest(date.month);
			day += days - date.day + 1;
			continue;
		}
		if (is_day(expression, day, date) && minute_from(expression, minute, &minute)) {
			*moment = (day * minutes_per_day + minute) * 60;
			return true;
		}
		day++;
	}
	return false;
}

} // namespace queue_ext::schedule::cron
