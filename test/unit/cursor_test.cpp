// cursor_test.cpp - order columns as bytes in shared memory, and bytes that are none.

#include "ring/cursor.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace cursor = queue_ext::ring::cursor;
using cursor::Column;
using cursor::Form;
using cursor::Value;

namespace {

constexpr std::size_t room = 256;

Value
value_of(const std::string &bytes)
{
	return {reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size()};
}

std::string
text_of(const Value &value)
{
	return {reinterpret_cast<const char *>(value.start), value.length};
}

// The bytes of these values, or nothing.
std::string
written(const std::vector<Column> &columns, const std::vector<std::string> &texts)
{
	unsigned char bytes[room];
	std::vector<Value> values;
	for (const std::string &text : texts)
		values.push_back(value_of(text));
	const std::size_t size =
		cursor::write(bytes, room, columns.data(), values.data(), static_cast<int>(columns.size()));
	return {reinterpret_cast<const char *>(bytes), size};
}

bool
can_read(const std::vector<Column> &columns, const std::string &bytes)
{
	// A copy of just that size, so that a sanitizer sees reads beyond it.
	const std::vector<unsigned char> copy(bytes.begin(), bytes.end());
	std::vector<Value> values(columns.size());
	return cursor::read(copy.data(), copy.size(), columns.data(), values.data(),
						static_cast<int>(columns.size()));
}

template <typename Number>
std::string
bytes_of(Number number)
{
	return {reinterpret_cast<const char *>(&number), sizeof(number)};
}

std::string
numeric(std::initializer_list<int> words)
{
	std::string bytes;
	for (const int word : words)
		bytes += bytes_of(static_cast<std::uint16_t>(word));
	return bytes;
}

std::string
bits(std::int32_t count, std::size_t bytes)
{
	return bytes_of(count) + std::string(bytes, '\xff');
}

std::string
network(int family, int mask, std::size_t bytes)
{
	return std::string{static_cast<char>(family), static_cast<char>(mask)} +
		   std::string(bytes, '\1');
}

const std::vector<Column> every_form = {
	{Form::fixed, 8}, {Form::boolean, 1}, {Form::name, 4}, {Form::bytes, 0},
	{Form::text, 0},  {Form::numeric, 0}, {Form::bits, 0}, {Form::network, 0},
};
const std::vector<std::string> one_of_each = {
	"12345678",
	std::string(1, '\1'),
	std::string("abc\0", 4),
	std::string("\0\xff\0", 3),
	"Wien",
	numeric({0x8000, 1, 9999}),
	bits(9, 2),
	network(2, 24, 4),
};

TEST(Cursor, ReadsWhatItHasWritten)
{
	const std::string bytes = written(every_form, one_of_each);
	ASSERT_FALSE(bytes.empty());
	std::vector<Value> values(every_form.size());
	ASSERT_TRUE(cursor::read(value_of(bytes).start, bytes.size(), every_form.data(), values.data(),
							 static_cast<int>(values.size())));
	for (std::size_t i = 0; i < values.size(); i++)
		EXPECT_EQ(text_of(values[i]), one_of_each[i]) << i;
}

TEST(Cursor, TakesNoOtherLength)
{
	const std::string bytes = written(every_form, one_of_each);
	for (std::size_t size = 0; size < bytes.size(); size++)
		EXPECT_FALSE(can_read(every_form, bytes.substr(0, size))) << size;
	EXPECT_FALSE(can_read(every_form, bytes + '\0'));
	EXPECT_FALSE(can_read({{Form::fixed, 8}}, ""));
	EXPECT_FALSE(can_read({{Form::text, 0}}, bytes_of<std::uint16_t>(UINT16_MAX)));
}

TEST(Cursor, WritesOnlyWhatFits)
{
	EXPECT_EQ(written({{Form::fixed, room}}, {std::string(room, 'x')}).size(), room);
	EXPECT_EQ(written({{Form::text, 0}}, {std::string(room - 2, 'x')}).size(), room);
	EXPECT_EQ(written({{Form::text, 0}}, {std::string(room - 1, 'x')}), "");
	EXPECT_EQ(written({{Form::fixed, room}, {Form::text, 0}}, {std::string(room, 'x'), ""}), "");
	EXPECT_EQ(written({{Form::bytes, 0}}, {std::string(UINT16_MAX + 1, 'x')}), "");
	EXPECT_EQ(written({{Form::fixed, 8}}, {"1234567"}), "");
}

struct Case
{
	Column column;
	std::string bytes;
	bool is_value;
};

TEST(Cursor, KnowsValuesByTheirBytes)
{
	const std::vector<Case> cases = {
		{{Form::boolean, 1}, std::string(1, '\0'), true},
		{{Form::boolean, 1}, std::string(1, '\2'), false},
		{{Form::name, 4}, "abcd", false},
		{{Form::text, 0}, "", true},
		{{Form::text, 0}, std::string("a\0b", 3), false},
		{{Form::bytes, 0}, "", true},
		// Numerics: short, long, without digits, and three that have none.
		{{Form::numeric, 0}, numeric({0x8000}), true},
		{{Form::numeric, 0}, numeric({0x0000, 0x0000, 1}), true},
		{{Form::numeric, 0}, numeric({0x4000, 0xffff, 9999}), true},
		{{Form::numeric, 0}, numeric({0xc000}), true},
		{{Form::numeric, 0}, numeric({0xd000}), true},
		{{Form::numeric, 0}, numeric({0xf000}), true},
		{{Form::numeric, 0}, numeric({0xe000}), false},
		{{Form::numeric, 0}, numeric({0xc001}), false},
		{{Form::numeric, 0}, numeric({0xc000, 1}), false},
		{{Form::numeric, 0}, numeric({0x0000}), false},
		{{Form::numeric, 0}, numeric({0x8000, 10000}), false},
		{{Form::numeric, 0}, numeric({0x0000, 0, 0xffff}), false},
		{{Form::numeric, 0}, "", false},
		{{Form::numeric, 0}, "x", false},
		{{Form::numeric, 0}, numeric({0x8000}) + 'x', false},
		{{Form::bits, 0}, bits(0, 0), true},
		{{Form::bits, 0}, bits(8, 1), true},
		{{Form::bits, 0}, bits(8, 2), false},
		{{Form::bits, 0}, bits(9, 1), false},
		{{Form::bits, 0}, bits(-1, 0), false},
		{{Form::bits, 0}, bits(INT32_MAX, 1), false},
		{{Form::bits, 0}, "123", false},
		{{Form::network, 0}, network(2, 32, 4), true},
		{{Form::network, 0}, network(3, 128, 16), true},
		{{Form::network, 0}, network(2, 33, 4), false},
		{{Form::network, 0}, network(3, 129, 16), false},
		{{Form::network, 0}, network(2, 0, 16), false},
		{{Form::network, 0}, network(3, 0, 4), false},
		{{Form::network, 0}, network(1, 0, 4), false},
		{{Form::network, 0}, std::string(1, '\2'), false},
	};
	for (std::size_t i = 0; i < cases.size(); i++) {
		const Case &each = cases[i];
		EXPECT_EQ(cursor::is_value(each.column, value_of(each.bytes)), each.is_value) << i;
		EXPECT_EQ(!written({each.column}, {each.bytes}).empty(), each.is_value) << i;
	}
}

// Whatever stands in memory: values that are found lie within it, and are values.
TEST(Cursor, StaysWithinItsBytes)
{
	std::mt19937 random(1);
	const std::string good = written(every_form, one_of_each);
	for (int round = 0; round < 200000; round++) {
		std::string bytes = good;
		const unsigned changes = random() % 4;
		for (unsigned i = 0; i < changes; i++)
			bytes[random() % bytes.size()] = static_cast<char>(random());
		bytes.resize(random() % 2 == 0 ? bytes.size() : random() % (bytes.size() + 8));
		const std::vector<unsigned char> copy(bytes.begin(), bytes.end());
		std::vector<Value> values(every_form.size());
		if (!cursor::read(copy.data(), copy.size(), every_form.data(), values.data(),
						  static_cast<int>(values.size())))
			continue;
		const unsigned char *end = copy.data();
		for (std::size_t i = 0; i < values.size(); i++) {
			EXPECT_GE(values[i].start, end);
			end = values[i].start + values[i].length;
			EXPECT_TRUE(cursor::is_value(every_form[i], values[i]));
		}
		EXPECT_EQ(end, copy.data() + copy.size());
	}
}

} // namespace
