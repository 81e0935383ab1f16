// parts.cpp - libFuzzer over the parts of the library that are free of PostgreSQL: hashes, lock
// keys, backoff, the decoding of a cursor that somebody else may have written, and of receipts, and
// cron expressions.
//
// Each property is an abort if it does not hold.

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "key/fnv.hpp"
#include "queue/backoff.hpp"
#include "queue/base64url.hpp"
#include "queue/receipt_form.hpp"
#include "ring/cursor.hpp"
#include "schedule/cron.hpp"

namespace {

void
require(bool holds)
{
	if (!holds)
		std::abort();
}

// The next value of the input; bytes behind its end are zero.
template <typename Value>
Value
next(const std::uint8_t **bytes, std::size_t *size)
{
	Value value{};
	const std::size_t count = *size < sizeof(Value) ? *size : sizeof(Value);
	if (count > 0)
		std::memcpy(&value, *bytes, count);
	*bytes += count;
	*size -= count;
	return value;
}

void
fuzz_keys(const std::uint8_t *bytes, std::size_t size)
{
	using namespace queue_ext::key;
	std::uint32_t small = FnvParameters<std::uint32_t>::offset_basis;
	std::uint64_t large = FnvParameters<std::uint64_t>::offset_basis;
	for (std::size_t i = 0; i < size; i++) {
		small = (small * 16777619u) ^ bytes[i];
		large = (large * 1099511628211u) ^ bytes[i];
	}
	require(fnv1_32(bytes, size) == small);
	require(fnv1_64(bytes, size) == large);
	require(static_cast<std::uint64_t>(lock_key(bytes, size, 0)) == large);
	const auto prefixed = static_cast<std::uint64_t>(lock_key(bytes, size, -7));
	require(prefixed >> 32 == 0xfffffff9u && static_cast<std::uint32_t>(prefixed) == small);
}

void
fuzz_backoff(const std::uint8_t *bytes, std::size_t size)
{
	using namespace queue_ext::queue;
	const auto positive = [](std::int64_t value) {
		return value <= 0 ? 1 : value;
	};
	const std::int64_t base = positive(next<std::int64_t>(&bytes, &size));
	const std::int64_t cap = positive(next<std::int64_t>(&bytes, &size));
	const int attempt = next<std::int32_t>(&bytes, &size);
	const double fraction = next<std::uint8_t>(&bytes, &size) / 256.0;
	const std::int64_t wait = backoff(base, cap, attempt, fraction);
	require(wait >= 0 && wait <= cap && wait <= backoff_ceiling(base, cap, attempt));
	require(wait >= backoff_ceiling(base, cap, attempt) / 2);
}

// What read() takes is what write() makes, and lies within the bytes.
void
fuzz_cursor(const std::uint8_t *bytes, std::size_t size)
{
	using namespace queue_ext::ring::cursor;
	constexpr int most = 8;
	Column columns[most];
	Value values[most];
	const int count = next<std::uint8_t>(&bytes, &size) % (most + 1);
	for (int i = 0; i < count; i++)
		columns[i] = {static_cast<Form>(next<std::uint8_t>(&bytes, &size) %
										(static_cast<int>(Form::network) + 1)),
					  static_cast<std::uint16_t>(next<std::uint8_t>(&bytes, &size) + 1)};
	for (int i = 0; i < count; i++)
		if (columns[i].form == Form::boolean)
			columns[i].length = 1;
	if (!read(bytes, size, columns, values, count))
		return;
	for (int i = 0; i < count; i++)
		require(values[i].start >= bytes && values[i].start + values[i].length <= bytes + size);
	unsigned char again[UINT16_MAX];
	const std::size_t room = size <= sizeof(again) ? size : 0;
	if (room == size) {
		require(write(again, room, columns, values, count) == size);
		require(std::memcmp(again, bytes, size) == 0);
		if (size > 0)
			require(write(again, room - 1, columns, values, count) == 0);
	}
}

// Each text that is taken is the one that its bytes give.
void
fuzz_text(const std::uint8_t *bytes, std::size_t size)
{
	using namespace queue_ext::queue::base64url;
	constexpr std::size_t most = 512;
	if (size > most)
		return;
	char text[encoded_length(most)];
	unsigned char back[decoded_length(encoded_length(most))];
	encode(bytes, size, text);
	require(decode(text, encoded_length(size), back));
	require(decoded_length(encoded_length(size)) == size && std::memcmp(back, bytes, size) == 0);
	const auto *given = reinterpret_cast<const char *>(bytes);
	if (!decode(given, size, back))
		return;
	encode(back, decoded_length(size), text);
	require(encoded_length(decoded_length(size)) == size && std::memcmp(text, given, size) == 0);
}

// Values lie within the bytes, one after the other; with a right checksum, as few would have one.
void
fuzz_receipt(const std::uint8_t *bytes, std::size_t size)
{
	using namespace queue_ext::queue::receipt_form;
	constexpr std::size_t most = 512;
	unsigned char receipt[most + number_size];
	if (size > most)
		return;
	std::memcpy(receipt, bytes, size);
	write_number(checksum_of(receipt, size), receipt + size);
	Origin origin{};
	Values values{};
	const ReceiptFault fault = read_header(receipt, size + number_size, &origin, &values);
	require((fault == ReceiptFault::none) == (size >= header_size && bytes[0] == version));
	if (fault != ReceiptFault::none)
		return;
	unsigned char header[header_size];
	write_header(origin, header);
	require(std::memcmp(header, bytes, header_size) == 0);
	const unsigned char *at = receipt + header_size;
	ReceiptValue value{};
	while (read_value(&values, &value)) {
		if (value.start == nullptr) {
			require(*at++ == 0);
			continue;
		}
		unsigned char prefix[1 + number_size];
		const std::size_t length = write_length(value.length, prefix);
		require(std::memcmp(prefix, at, length) == 0 && value.start == at + length);
		at = value.start + value.length;
		require(at <= receipt + size);
	}
	require(values.end == receipt + size);
}

// A fault lies within the text; an expression that has none has a next moment, which is one of its
// own, and the same from any moment between.
void
fuzz_cron(const std::uint8_t *bytes, std::size_t size)
{
	using namespace queue_ext::schedule::cron;
	constexpr std::int64_t far = std::int64_t{1} << 40; // some 35,000 years
	const std::int64_t from = next<std::int64_t>(&bytes, &size) % far;
	const auto *text = reinterpret_cast<const char *>(bytes);
	Expression expression{};
	const Fault fault = parse_expression(text, size, &expression);
	if (fault.reason != nullptr) {
		require(fault.start <= size && fault.length <= size - fault.start);
		return;
	}
	std::int64_t moment = 0;
	require(queue_ext::schedule::cron::next(expression, from, &moment));
	require(moment >= from && moment % 60 == 0);
	const std::int64_t day = floor_divide(moment, 86400);
	const auto minute = static_cast<int>((moment - day * 86400) / 60);
	require(is_day(expression, day, date_of(day)) && has(expression.months, date_of(day).month) &&
			has(expression.hours, minute / 60) && has(expression.minutes, minute % 60));
	std::int64_t again = 0;
	require(queue_ext::schedule::cron::next(expression, from + (moment - from) / 2, &again));
	require(again == moment);
}

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size)
{
	if (size == 0)
		return 0;
	switch (bytes[0] % 6) {
		case 0:
			fuzz_keys(bytes + 1, size - 1);
			break;
		case 1:
			fuzz_cursor(bytes + 1, size - 1);
			break;
		case 2:
			fuzz_text(bytes + 1, size - 1);
			break;
		case 3:
			fuzz_receipt(bytes + 1, size - 1);
			break;
		case 4:
			fuzz_cron(bytes + 1, size - 1);
			break;
		default:
			fuzz_backoff(bytes + 1, size - 1);
	}
	return 0;
}
