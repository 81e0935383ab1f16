// base64url.hpp - bytes as text that can stand in a URL, and back (RFC 4648, section 5, without
// padding).
//
// Includes nothing of PostgreSQL, so that it can be unit-tested and fuzzed alone. decode() trusts
// nothing: it accepts only what encode() writes, so each text that it accepts has its own bytes.

#pragma once

#include <cstddef>
#include <cstdint>

namespace queue_ext::queue::base64url {

constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr unsigned bits_of_digit = 6;
constexpr unsigned bits_of_byte = 8;

// The number of characters that so many bytes take.
constexpr std::size_t
encoded_length(std::size_t length)
{
	return length / 3 * 4 + (length % 3 == 0 ? 0 : length % 3 + 1);
}

// The number of bytes that a text of that length stands for.
constexpr std::size_t
decoded_length(std::size_t length)
{
	return length / 4 * 3 + (length % 4 == 0 ? 0 : length % 4 - 1);
}

// Writes encoded_length(length) characters.
constexpr void
encode(const unsigned char *bytes, std::size_t length, char *text)
{
	std::uint32_t pending = 0;
	unsigned count = 0; // of pending bits
	for (std::size_t i = 0; i < length; i++) {
		pending = (pending << bits_of_byte) | bytes[i];
		for (count += bits_of_byte; count >= bits_of_digit; count -= bits_of_digit)
			*text++ = alphabet[(pending >> (count - bits_of_digit)) & 0x3F];
	}
	if (count > 0)
		*text = alphabet[(pending << (bits_of_digit - count)) & 0x3F];
}

// The value of a digit, or -1.
constexpr int
digit_of(char character)
{
	if (character >= 'A' && character <= 'Z')
		return character - 'A';
	if (character >= 'a' && character <= 'z')
		return character - 'a' + 26;
	if (character >= '0' && character <= '9')
		return character - '0' + 52;
	if (character == '-')
		return 62;
	return character == '_' ? 63 : -1;
}

// Writes decoded_length(length) bytes. False if encode() does not write such a text.
constexpr bool
decode(const char *text, std::size_t length, unsigned char *bytes)
{
	if (length % 4 == 1)
		return false;
	std::uint32_t pending = 0;
	unsigned count = 0;
	for (std::size_t i = 0; i < length; i++) {
		const int digit = digit_of(text[i]);
		if (digit < 0)
			return false;
		pending = (pending << bits_of_digit) | static_cast<std::uint32_t>(digit);
		count += bits_of_digit;
		if (count >= bits_of_byte) {
			count -= bits_of_byte;
			*bytes++ = static_cast<unsigned char>(pending >> count);
		}
	}
	return (pending & ((1U << count) - 1)) == 0;
}

} // namespace queue_ext::queue::base64url
