// fnv_bound.cpp - what FNV itself demands for 1024 bytes: a chain of multiply
// and xor in which each step waits for the one before. Nothing is loaded, and
// no implementation can be faster, whatever it is written in.
//
// Prints nanoseconds per 1024 bytes: the chain's, and that of key/fnv.hpp on
// bytes in memory.
#include <chrono>
#include <cstdint>
#include <cstdio>

#include "key/fnv.hpp"

namespace {

constexpr int input_length = 1024;
constexpr int repetitions = 20000;

// Makes the compiler forget what it knows about the value, at no cost.
template <typename Word>
void
hide(Word &value)
{
	__asm__ volatile("" : "+r"(value));
}

std::uint64_t
chain(std::uint64_t byte)
{
	using Parameters = queue_ext::key::FnvParameters<std::uint64_t>;
	std::uint64_t hash = Parameters::offset_basis;
	std::uint64_t prime = Parameters::prime;
	hide(prime);
	for (int i = 0; i < input_length; i++) {
		hash = (hash * prime) ^ byte;
		hide(hash);
	}
	return hash;
}

template <typename Body>
double
nanoseconds(Body &&body)
{
	const auto start = std::chrono::steady_clock::now();
	for (int i = 0; i < repetitions; i++) {
		std::uint64_t result = body();
		hide(result);
	}
	const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
	return spent.count() / repetitions;
}

} // namespace

int
main()
{
	static unsigned char input[input_length];
	for (unsigned char &byte : input)
		byte = 'x';

	const double bound = nanoseconds([] { return chain('x'); });
	const double header = nanoseconds([] {
		const unsigned char *bytes = input;
		hide(bytes);
		return queue_ext::key::fnv1_64(bytes, input_length);
	});
	std::printf("bound|%.1f\nfnv.hpp|%.1f\n", bound, header);
}
