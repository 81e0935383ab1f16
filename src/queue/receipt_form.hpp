// receipt_form.hpp - the bytes of a receipt: what it belongs to, then values, then a checksum.
//
//     version  1 byte
//     origin   12 bytes: the table, hashes of the queue and of the columns
//     values   each a length and its bytes
//     checksum 4 bytes: FNV-1a of all before
//
// Numbers are big-endian. The length of a value is one byte, 1 more than it is; 0 is null; and 255
// is followed by the length in four bytes, for a value that is too long for one.
//
// The checksum finds what was mangled on the way. It does not keep a client from making a receipt up,
// so the bytes are not trusted: each length is checked before the bytes that it counts are read.
//
// Includes nothing of PostgreSQL, so that it can be unit-tested and fuzzed alone.

#pragma once

#include <cstddef>
#include <cstdint>

#include "../key/fnv.hpp"

namespace queue_ext::queue::receipt_form {

constexpr unsigned char version = 1;
constexpr std::size_t number_size = 4;
constexpr std::size_t header_size = 1 + 3 * number_size;
constexpr std::size_t least_size = header_size + number_size;
constexpr std::size_t longest_short = 253;
constexpr unsigned char long_mark = 255;

// What a receipt belongs to. It does not change with the names and the other columns of the table.
struct Origin
{
	std::uint32_t table;   // its OID
	std::uint32_t queue;   // a hash of the database and the queue's name
	std::uint32_t columns; // a hash of those whose values follow
};

// A value; start is null for a null.
struct ReceiptValue
{
	const unsigned char *start;
	std::size_t length;
};

// The values of a receipt that are still to be read.
struct Values
{
	const unsigned char *at;
	const unsigned char *end;
};

inline void
write_number(std::uint32_t number, unsigned char *bytes)
{
	for (std::size_t i = 0; i < number_size; i++)
		bytes[i] = static_cast<unsigned char>(number >> (8 * (number_size - 1 - i)));
}

inline std::uint32_t
read_number(const unsigned char *bytes)
{
	std::uint32_t number = 0;
	for (std::size_t i = 0; i < number_size; i++)
		number = (number << 8) | bytes[i];
	return number;
}

// Writes header_size bytes.
inline void
write_header(const Origin &origin, unsigned char *bytes)
{
	bytes[0] = version;
	write_number(origin.table, bytes + 1);
	write_number(origin.queue, bytes + 1 + number_size);
	write_number(origin.columns, bytes + 1 + 2 * number_size);
}

// Writes what stands before a value of that length, at most 1 + number_size bytes. Returns their
// number.
inline std::size_t
write_length(std::size_t length, unsigned char *bytes)
{
	if (length <= longest_short) {
		bytes[0] = static_cast<unsigned char>(length + 1);
		return 1;
	}
	bytes[0] = long_mark;
	write_number(static_cast<std::uint32_t>(length), bytes + 1);
	return 1 + number_size;
}

// The checksum of all bytes before it, which write_number() then adds.
inline std::uint32_t
checksum_of(const unsigned char *bytes, std::size_t length)
{
	return key::fnv1a_32(bytes, length);
}

// Why bytes are no receipt.
enum class ReceiptFault { none, mangled, version };

// Reads the header and checks the checksum.
inline ReceiptFault
read_header(const unsigned char *bytes, std::size_t length, Origin *origin, Values *values)
{
	if (length < least_size)
		return ReceiptFault::mangled;
	const unsigned char *end = bytes + length - number_size;
	if (checksum_of(bytes, length - number_size) != read_number(end))
		return ReceiptFault::mangled;
	if (bytes[0] != version)
		return ReceiptFault::version;
	*origin = {read_number(bytes + 1), read_number(bytes + 1 + number_size),
			   read_number(bytes + 1 + 2 * number_size)};
	*values = {bytes + header_size, end};
	return ReceiptFault::none;
}

// Reads the next value. False if there is none, or its length goes beyond the end.
inline bool
read_value(Values *values, ReceiptValue *value)
{
	if (values->at == values->end)
		return false;
	const unsigned char mark = *values->at++;
	if (mark == 0) {
		*value = {nullptr, 0};
		return true;
	}
	std::size_t length = mark - std::size_t{1};
	if (mark == long_mark) {
		if (static_cast<std::size_t>(values->end - values->at) < number_size)
			return false;
		length = read_number(values->at);
		values->at += number_size;
		if (length <= longest_short)
			return false;
	}
	if (static_cast<std::size_t>(values->end - values->at) < length)
		return false;
	*value = {values->at, length};
	values->at += length;
	return true;
}

} // namespace queue_ext::queue::receipt_form
