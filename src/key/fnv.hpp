// fnv.hpp - the Fowler/Noll/Vo hashes FNV-1 and FNV-1a, and the lock key made from them.
//
// Independent of PostgreSQL and usable at compile time. The results are unsigned, as published;
// callers that need SQL's types reinterpret the bits. FNV-1 multiplies before it mixes in a byte
// and FNV-1a after; Go's hash/fnv calls them New32/New64 and New32a/New64a.
//
// These hashes name locks and spread keys. They do not resist an attacker, who can choose an input
// for any result.
//
// Example:
//     constexpr unsigned char key[] = {'a', 'b', 'c'};
//     static_assert(queue_ext::key::fnv1_32(key, 3) == 0x439c2f4b);
#pragma once

#include <cstddef>
#include <cstdint>

namespace queue_ext::key {

// The parameters that the authors publish for each width.
template <typename Word>
struct FnvParameters;

template <>
struct FnvParameters<std::uint32_t>
{
	static constexpr std::uint32_t offset_basis = 0x811c9dc5;
	static constexpr std::uint32_t prime = 0x01000193;
};

template <>
struct FnvParameters<std::uint64_t>
{
	static constexpr std::uint64_t offset_basis = 0xcbf29ce484222325;
	static constexpr std::uint64_t prime = 0x00000100000001b3;
};

// Multiplies, then mixes in the byte; overflow wraps around, as the algorithm wants it.
template <typename Word>
constexpr Word
fnv1(const unsigned char *bytes, std::size_t length)
{
	Word hash = FnvParameters<Word>::offset_basis;
	for (std::size_t i = 0; i < length; i++)
		hash = (hash * FnvParameters<Word>::prime) ^ bytes[i];
	return hash;
}

// Mixes in the byte, then multiplies.
template <typename Word>
constexpr Word
fnv1a(const unsigned char *bytes, std::size_t length)
{
	Word hash = FnvParameters<Word>::offset_basis;
	for (std::size_t i = 0; i < length; i++)
		hash = (hash ^ bytes[i]) * FnvParameters<Word>::prime;
	return hash;
}

// These four have names of their own so that they can be template arguments (fnv.cpp).
constexpr std::uint32_t
fnv1_32(const unsigned char *bytes, std::size_t length)
{
	return fnv1<std::uint32_t>(bytes, length);
}

constexpr std::uint64_t
fnv1_64(const unsigned char *bytes, std::size_t length)
{
	return fnv1<std::uint64_t>(bytes, length);
}

constexpr std::uint32_t
fnv1a_32(const unsigned char *bytes, std::size_t length)
{
	return fnv1a<std::uint32_t>(bytes, length);
}

constexpr std::uint64_t
fnv1a_64(const unsigned char *bytes, std::size_t length)
{
	return fnv1a<std::uint64_t>(bytes, length);
}

// The advisory lock key of a name. Prefix 0: the name's 64-bit FNV-1. Any other prefix: the prefix
// in the upper 32 bits and the name's 32-bit FNV-1 in the lower, so that locks of different
// prefixes never conflict. Clients in other languages compute the same key, so the function must
// never change.
constexpr std::int64_t
lock_key(const unsigned char *bytes, std::size_t length, std::int32_t prefix)
{
	if (prefix == 0)
		return static_cast<std::int64_t>(fnv1_64(bytes, length));

	const std::uint64_t upper = static_cast<std::uint64_t>(static_cast<std::uint32_t>(prefix))
								<< 32;
	return static_cast<std::int64_t>(upper | fnv1_32(bytes, length));
}

} // namespace queue_ext::key
