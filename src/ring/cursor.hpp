// cursor.hpp - the order columns of one row as bytes, and back.
//
// The bytes are in shared memory and not trusted: read() accepts only what write() could have made
// for these columns, and values that PostgreSQL's comparison functions can handle. Each length is
// checked before the bytes that it counts are read.
//
// Includes nothing of PostgreSQL, so that it can be unit-tested and fuzzed alone. Functions are
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

namespace queue_ext::ring::cursor {

// The layout of a column's values.
enum class Form : std::uint8_t {
	fixed,   // any bytes, as many as the column's length
	boolean, // one byte, 0 or 1
	name,    // as many bytes as the column's length, the last one zero
	bytes,   // any bytes
	text,    // any bytes but zero; the caller checks the encoding
	numeric,
	bits,
	network,
};

// A column of the order.
struct Column
{
	Form form;
	std::uint16_t length; // of each value, if the form is fixed
};

// Whether all values have the column's length, so that none is stored.
constexpr bool
is_fixed(Form form)
{
	return form == Form::fixed || form == Form::boolean || form == Form::name;
}

// The bytes of one value; of a varlena, without its header.
struct Value
{
	const unsigned char *start;
	std::size_t length;
};

// Reads a number that need not be aligned.
template <typename Number>
Number
number_at(const unsigned char *start)
{
	Number number;
	std::memcpy(&number, start, sizeof(number));
	return number;
}

// A numeric: its header, with sign, scale and weight, then digits to base 10000, as in numeric.c.
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

// A bit string: the number of bits, then as many bytes as these take.
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

// An inet or cidr: the family, the number of network bits, the address.
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

// Whether the bytes are a value of that column.
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

// Precedes each value whose form has no fixed length.
using Length = std::uint16_t;

// Writes the values of the columns one after another. Returns their size in bytes; 0 if they do not
// fit into room, or if one is not a value of its column.
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

// Finds the values of the columns in the bytes, to which they then point. False if the bytes are
// anything else.
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

} // namespace queue_ext::ring::cursor
