// The FNV hashes and lock keys of src/key/fnv.hpp.
#include <cstdint>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "fnv_vectors.hpp"
#include "key/fnv.hpp"

namespace {

using namespace queue_ext::key;
using fnv_vectors::Vector;

const unsigned char *
bytes(const std::string &text)
{
	return reinterpret_cast<const unsigned char *>(text.data());
}

// Usable at compile time: the hashes of "abc" and of nothing.
constexpr unsigned char abc[] = {'a', 'b', 'c'};
static_assert(fnv1_32(abc, 3) == 0x439c2f4b);
static_assert(fnv1a_32(abc, 3) == 0x1a47e90b);
static_assert(fnv1_64(abc, 3) == 0xd8dcca186bafadcb);
static_assert(fnv1a_64(abc, 3) == 0xe71fa2190541574b);
static_assert(fnv1_32(nullptr, 0) == 0x811c9dc5);
static_assert(fnv1a_64(nullptr, 0) == 0xcbf29ce484222325);
static_assert(lock_key(abc, 3, 0) == INT64_C(-2820157060406071861));
static_assert(lock_key(abc, 3, 1) == INT64_C(0x1439c2f4b));

void
expect_hashes(const Vector &vector)
{
	SCOPED_TRACE(std::string(vector.unit) + " x " + std::to_string(vector.times));
	const std::string input = vector.input();
	EXPECT_EQ(fnv1_32(bytes(input), input.size()), vector.fnv1_32);
	EXPECT_EQ(fnv1a_32(bytes(input), input.size()), vector.fnv1a_32);
	EXPECT_EQ(fnv1_64(bytes(input), input.size()), vector.fnv1_64);
	EXPECT_EQ(fnv1a_64(bytes(input), input.size()), vector.fnv1a_64);
}

TEST(Fnv, PublishedVectors)
{
	ASSERT_GE(std::size(fnv_vectors::published), 100u);
	for (const Vector &vector : fnv_vectors::published)
		expect_hashes(vector);
}

TEST(Fnv, AgreesWithGo)
{
	for (const Vector &vector : fnv_vectors::computed_by_go)
		expect_hashes(vector);
}

// Every byte value, in 8 KiB of counting up; the hashes are Go's.
TEST(Fnv, EveryByteValue)
{
	std::string input;
	for (int i = 0; i < 8192; i++)
		input += static_cast<char>(i % 256);
	EXPECT_EQ(fnv1_32(bytes(input), input.size()), 0xad991dc5);
	EXPECT_EQ(fnv1a_32(bytes(input), input.size()), 0xfd53fdc5);
	EXPECT_EQ(fnv1_64(bytes(input), input.size()), 0xd573c58ceb8a6325);
	EXPECT_EQ(fnv1a_64(bytes(input), input.size()), 0x37b4add9db848325);
}

// A length that is no multiple of anything, past 64 KiB; the hashes are Go's.
TEST(Fnv, OddLongInput)
{
	std::string input;
	for (int i = 0; i < 65537; i++)
		input += static_cast<char>((i * 131 + i / 256) % 256);
	EXPECT_EQ(fnv1_32(bytes(input), input.size()), 0xb2d2fd1f);
	EXPECT_EQ(fnv1a_32(bytes(input), input.size()), 0x5fc1cd1f);
	EXPECT_EQ(fnv1_64(bytes(input), input.size()), 0xe41bfe3735b5e7df);
	EXPECT_EQ(fnv1a_64(bytes(input), input.size()), 0x2dc9f245c8c6efdf);
}

// The length counts, not a NUL.
TEST(Fnv, ReadsExactlyTheLength)
{
	const std::string input("ab\0cd", 5);
	EXPECT_EQ(fnv1_32(bytes(input), 2), 0x70772d38);
	EXPECT_NE(fnv1_32(bytes(input), 3), fnv1_32(bytes(input), 2));
	EXPECT_NE(fnv1_32(bytes(input), 5), fnv1_32(bytes(input), 3));
}

TEST(LockKey, WithoutPrefixIsTheWholeHash)
{
	const std::string key = "some content for hashing purposes";
	EXPECT_EQ(lock_key(bytes(key), key.size(), 0), INT64_C(0x19badbee92694498));
	EXPECT_EQ(lock_key(nullptr, 0, 0), static_cast<std::int64_t>(UINT64_C(0xcbf29ce484222325)));
}

TEST(LockKey, PrefixIsTheUpperHalf)
{
	const std::string key = "some content for hashing purposes";
	EXPECT_EQ(lock_key(bytes(key), key.size(), 1), INT64_C(0x000000012d915e78));
	EXPECT_EQ(lock_key(bytes(key), key.size(), INT32_MAX), INT64_C(0x7fffffff2d915e78));
	EXPECT_EQ(lock_key(bytes(key), key.size(), -1), INT64_C(-0xd26ea188));
	EXPECT_EQ(lock_key(bytes(key), key.size(), INT32_MIN), INT64_MIN + INT64_C(0x2d915e78));
}

// A lower half whose own top bit is set must not run into the prefix.
TEST(LockKey, LowerHalfIsUnsigned)
{
	EXPECT_EQ(lock_key(nullptr, 0, 1), INT64_C(0x00000001811c9dc5));
	EXPECT_EQ(lock_key(nullptr, 0, -2), INT64_C(-0x1'7ee3'623b));
}

} // namespace
