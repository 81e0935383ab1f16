// cursor.hpp - the order columns of one row as bytes, and back.
//
// The bytes lie in shared memory and are not trusted: read() takes nothing but what
// write() could have made for these columns, and values that PostgreSQL's comparisons
// can stand. Lengths are checked before what they lead to.
//
// Free of PostgreSQL, so that it can be tested and fuzzed by itself. Functions are
// inline; none allocates.
//
// Example:
//     const Column columns[] = {{Form::fixed, 8}, {Form::text, 0}};
//     const size_t size = cursor::write(bytes, sizeof(bytes), columns, values, 2);
//     if (size > 0 && cursor::read(bytes, size, columns, values, 2)) ...

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace queue_ext::claim::cursor {

// What the bytes of a column's values look like.
enum class Form : std::uint8_t {
	fixed,   // any, of the column's length
	boolean, // one, 0 or 1
	name,    // of the column's length, with a zero at the end
	bytes,   // any
	text,    // any but zero; the encoding is for the caller to check
	numeric,
	bits,
	network,
};

struct Column
{
	Form form;
	std::uint16_t length; // of a fixed form
};

constexpr bool
is_fixed(Form form)
{
	return form == Form::fixed || form == Form::boolean || form == Form::name;
}

// The bytes of one value; of a form of any length, without PostgreSQL's header.
struct Value
{
	const unsigned char *start;
	std::size_t length;
};

template <typename Number>
Number
number_at(const unsigned char *start)
{
	Number number;
	std::memcpy(&number, start, sizeof(number));
	return number;
}

// A numeric: its sign and place, then decimal digits by four. As in numeric.c.
inline bool
is_numeric(const Value &value)
{
	constexpr unsigned kind_mask = 0xC000;
	constexpr unsigned kind_short = 0x8000;
	constexpr unsigned kind_special = 0xC000;
	constexpr unsigned nan = 0xC000;
	constexpr unsigned infinity = 0xD000;
	constexpr unsigned minus_infinity = 0xF000;
	constexpr std::size_t word = sizeof(std::uint16_t);
	constexpr unsigned base = 10000;
	if (value.length < word || value.length % word != 0)
		return false;
	const unsigned header = number_at<std::uint16_t>(value.start);
	const unsigned kind = header & kind_mask;
	if (kind == kind_special)
		return value.length == word &&
			   (header == nan || header == infinity || header == minus_infinity);
	std::size_t digit = kind == kind_short ? word : 2 * word;
	if (digit > value.length)
		return false;
	for (; digit < value.length; digit += word)
		if (number_at<std::uint16_t>(value.start + digit) >= base)
			return false;
	return true;
}

// A string of bits: how many, then as many bytes as these take.
inline bool
is_bits(const Value &value)
{
	constexpr std::size_t header = sizeof(std::int32_t);
	constexpr unsigned byte = 8;
	if (value.length < header)
		return false;
	const auto count = number_at<std::int32_t>(value.start);
	return count >= 0 &&
		   value.length - header == (static_cast<std::uint32_t>(count) + byte - 1) / byte;
}

// An address: its family, the bits of its network, its bytes.
inline bool
is_network(const Value &value)
{
	constexpr std::size_t header = 2;
	constexpr unsigned family_4 = 2;
	constexpr unsigned family_6 = 3;
	constexpr std::size_t bytes_4 = 4;
	constexpr std::size_t bytes_6 = 16;
	constexpr std::size_t byte = 8;
	if (value.length < header)
		return false;
	const std::size_t length = value.length - header;
	const bool fits = (value.start[0] == family_4 && length == bytes_4) ||
					  (value.start[0] == family_6 && length == bytes_6);
	return fits && value.start[1] <= length * byte;
}

// Whether the bytes are of that column.
inline bool
is_value(const Column &column, const Value &value)
{
	if (is_fixed(column.form) && value.length != column.length)
		return false;
	switch (column.form) {
		case Form::fixed:
		case Form::bytes:
			return true;
		case Form::boolean:
			return value.length == 1 && value.start[0] <= 1;
		case Form::name:
			return value.length > 0 && value.start[value.length - 1] == 0;
		case Form::text:
			return value.length == 0 || std::memchr(value.start, 0, value.length) == nullptr;
		case Form::numeric:
			return is_numeric(value);
		case Form::bits:
			return is_bits(value);
		case Form::network:
			return is_network(value);
	}
	return false;
}

// In front of each value of any length stands how long it is.
using Length = std::uint16_t;

// Writes the values of the columns one behind the other. Returns how many bytes that took; 0
// where they do not fit in, or are not of their columns.
inline std::size_t
write(unsigned char *to, std::size_t room, const Column *columns, const Value *values, int count)
{
	std::size_t size = 0;
	for (int i = 0; i < count; i++) {
		const Value &value = values[i];
		const std::size_t header = is_fixed(columns[i].form) ? 0 : sizeof(Length);
		if (!is_value(columns[i], value) || value.length > UINT16_MAX ||
			header + value.length > room - size)
			return 0;
		const auto length = static_cast<Length>(value.length);
		std::memcpy(to + size, &length, header);
		if (length > 0)
			std::memcpy(to + size + header, value.start, length);
		size += header + length;
	}
	return size;
}

// Finds the values of the columns in the bytes. False if these are anything else.
inline bool
read(const unsigned char *from, std::size_t size, const Column *columns, Value *values, int count)
{
	std::size_t at = 0;
	for (int i = 0; i < count; i++) {
		std::size_t length = columns[i].length;
		if (!is_fixed(columns[i].form)) {
			if (sizeof(Length) > size - at)
				return false;
			length = number_at<Length>(from + at);
			at += sizeof(Length);
		}
		if (length > size - at)
			return false;
		values[i] = {from + at, length};
		if (!is_value(columns[i], values[i]))
			return false;
		at += length;
	}
	return at == size;
}

} // namespace queue_ext::claim::cursor
