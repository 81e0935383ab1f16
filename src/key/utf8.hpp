// utf8.hpp - the UTF-8 bytes of a text, in a database of any encoding.
//
// Nothing here takes a lock. utf8_of() raises 22021 or 22P05 for text that cannot be converted,
// 42883 where the database's encoding has no conversion; its result is in the current context.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::key {

// Not terminated by a zero byte; valid as long as the value that it points into.
struct Bytes
{
	const unsigned char *start;
	std::size_t length;
};

// The value must be detoasted; a short header is fine.
inline Bytes
bytes_of(const varlena *value)
{
	return {reinterpret_cast<const unsigned char *>(VARDATA_ANY(value)),
			static_cast<std::size_t>(VARSIZE_ANY_EXHDR(value))};
}

// The text in UTF-8, so that databases of different encodings, and their clients, agree on the
// hash. The encoding of SQL_ASCII bytes is unknown, so they stay as they are; the server's
// conversion would reject most of them.
inline Bytes
utf8_of(const Bytes stored)
{
	const int encoding = GetDatabaseEncoding();
	if (encoding == PG_UTF8 || encoding == PG_SQL_ASCII || stored.length == 0)
		return stored;

	const unsigned char *converted =
		pg_do_encoding_conversion(const_cast<unsigned char *>(stored.start),
								  static_cast<int>(stored.length), encoding, PG_UTF8);
	return {converted, strlen(reinterpret_cast<const char *>(converted))};
}

inline Bytes
utf8_of(const text *value)
{
	return utf8_of(bytes_of(value));
}

inline Bytes
utf8_of(const char *value, std::size_t length)
{
	return utf8_of(Bytes{reinterpret_cast<const unsigned char *>(value), length});
}

} // namespace queue_ext::key
