// receipt_test.cpp - receipts as text and as bytes, and texts that are none.

#include "queue/base64url.hpp"
#include "queue/receipt_form.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace base64url = queue_ext::queue::base64url;
namespace form = queue_ext::queue::receipt_form;
using form::ReceiptFault;

namespace {

const unsigned char *
bytes_of(const std::string &text)
{
	return reinterpret_cast<const unsigned char *>(text.data());
}

std::string
encoded(const std::string &bytes)
{
	std::string text(base64url::encoded_length(bytes.size()), '?');
	base64url::encode(bytes_of(bytes), bytes.size(), text.data());
	return text;
}

bool
can_decode(const std::string &text)
{
	std::vector<unsigned char> bytes(base64url::decoded_length(text.size()) + 1);
	return base64url::decode(text.data(), text.size(), bytes.data());
}

std::string
decoded(const std::string &text)
{
	std::string bytes(base64url::decoded_length(text.size()), '?');
	EXPECT_TRUE(base64url::decode(text.data(), text.size(),
								  reinterpret_cast<unsigned char *>(bytes.data())));
	return bytes;
}

// A receipt with these values; nullptr is null.
std::string
made(const std::vector<const std::string *> &values)
{
	unsigned char header[form::header_size];
	form::write_header({0x01020304, 0xA0B0C0D0, 7}, header);
	std::string bytes(reinterpret_cast<char *>(header), sizeof(header));
	for (const std::string *value : values) {
		if (value == nullptr) {
			bytes.push_back('\0');
			continue;
		}
		unsigned char length[1 + form::number_size];
		const std::size_t size = form::write_length(value->size(), length);
		bytes.append(reinterpret_cast<char *>(length), size);
		bytes.append(*value);
	}
	unsigned char checksum[form::number_size];
	form::write_number(form::checksum_of(bytes_of(bytes), bytes.size()), checksum);
	bytes.append(reinterpret_cast<char *>(checksum), sizeof(checksum));
	return bytes;
}

ReceiptFault
fault_in(const std::string &bytes)
{
	form::Origin origin{};
	form::Values values{};
	return form::read_header(bytes_of(bytes), bytes.size(), &origin, &values);
}

} // namespace

// The vectors of RFC 4648, section 10, without padding.
TEST(Base64Url, Vectors)
{
	EXPECT_EQ(encoded(""), "");
	EXPECT_EQ(encoded("f"), "Zg");
	EXPECT_EQ(encoded("fo"), "Zm8");
	EXPECT_EQ(encoded("foo"), "Zm9v");
	EXPECT_EQ(encoded("foob"), "Zm9vYg");
	EXPECT_EQ(encoded("fooba"), "Zm9vYmE");
	EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
	EXPECT_EQ(encoded("\xFB\xFF\xBF"), "-_-_");
}

TEST(Base64Url, BackFromEachLength)
{
	std::string bytes;
	for (int i = 0; i < 600; i++) {
		EXPECT_EQ(decoded(encoded(bytes)), bytes);
		bytes.push_back(static_cast<char>(i * 37));
	}
}

TEST(Base64Url, TakesNothingElse)
{
	EXPECT_FALSE(can_decode("A"));
	EXPECT_FALSE(can_decode("AAAAA"));
	EXPECT_FALSE(can_decode("Zg=="));
	EXPECT_FALSE(can_decode("Zm9v\n"));
	EXPECT_FALSE(can_decode("+/+/"));
	EXPECT_FALSE(can_decode("Zh")); // bits beyond the last byte
	EXPECT_FALSE(can_decode("Zm9"));
	EXPECT_FALSE(can_decode(std::string("Zm\0v", 4)));
	EXPECT_FALSE(can_decode("Z\xC3\xA9v"));
	for (int i = 0; i < 256; i++) {
		const char character = static_cast<char>(i);
		const bool is_digit =
			std::string(base64url::alphabet).find(character) != std::string::npos &&
			character != '\0';
		EXPECT_EQ(can_decode(std::string("AAA") + character), is_digit) << i;
	}
}

TEST(Receipt, GivesItsValuesBack)
{
	const std::string empty;
	const std::string one = "1";
	for (const std::size_t size : {252, 253, 254, 255, 70000}) {
		const std::string longer(size, 'x');
		const std::string bytes = made({&empty, nullptr, &longer, &one});
		form::Origin origin{};
		form::Values values{};
		ASSERT_EQ(form::read_header(bytes_of(bytes), bytes.size(), &origin, &values),
				  ReceiptFault::none);
		EXPECT_EQ(origin.table, 0x01020304U);
		EXPECT_EQ(origin.queue, 0xA0B0C0D0U);
		EXPECT_EQ(origin.columns, 7U);
		form::ReceiptValue value{};
		ASSERT_TRUE(form::read_value(&values, &value));
		EXPECT_TRUE(value.start != nullptr && value.length == 0);
		ASSERT_TRUE(form::read_value(&values, &value));
		EXPECT_EQ(value.start, nullptr);
		ASSERT_TRUE(form::read_value(&values, &value));
		EXPECT_EQ(value.length, size);
		ASSERT_TRUE(form::read_value(&values, &value));
		EXPECT_EQ(std::string(reinterpret_cast<const char *>(value.start), value.length), one);
		EXPECT_FALSE(form::read_value(&values, &value));
		EXPECT_EQ(values.at, values.end);
	}
}

TEST(Receipt, NoticesEachChangedBit)
{
	const std::string value = "value";
	const std::string bytes = made({&value, nullptr});
	EXPECT_EQ(fault_in(bytes), ReceiptFault::none);
	for (std::size_t i = 0; i < bytes.size(); i++)
		for (int bit = 0; bit < 8; bit++) {
			std::string changed = bytes;
			changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
			EXPECT_EQ(fault_in(changed), ReceiptFault::mangled);
		}
	for (std::size_t length = 0; length < bytes.size(); length++)
		EXPECT_EQ(fault_in(bytes.substr(0, length)), ReceiptFault::mangled);
	EXPECT_EQ(fault_in(bytes + '\0'), ReceiptFault::mangled);
}

TEST(Receipt, KnowsItsVersion)
{
	std::string bytes = made({});
	bytes[0] = static_cast<char>(form::version + 1);
	bytes.resize(bytes.size() - form::number_size);
	unsigned char checksum[form::number_size];
	form::write_number(form::checksum_of(bytes_of(bytes), bytes.size()), checksum);
	bytes.append(reinterpret_cast<char *>(checksum), sizeof(checksum));
	EXPECT_EQ(fault_in(bytes), ReceiptFault::version);
}

// Lengths that go beyond the end, and the long form of a short length.
TEST(Receipt, TakesNoWrongLength)
{
	const auto can_read = [](const std::string &bytes) {
		form::Values values{bytes_of(bytes), bytes_of(bytes) + bytes.size()};
		form::ReceiptValue value{};
		return form::read_value(&values, &value);
	};
	EXPECT_FALSE(can_read(""));
	EXPECT_FALSE(can_read("\x02"));
	EXPECT_TRUE(can_read(std::string("\x02y")));
	EXPECT_FALSE(can_read("\xFE"));
	EXPECT_FALSE(can_read("\xFF"));
	EXPECT_FALSE(can_read(std::string("\xFF\0\0\1", 4)));
	EXPECT_FALSE(can_read(std::string("\xFF\xFF\xFF\xFF\xFF", 5)));
	EXPECT_FALSE(can_read(std::string("\xFF\0\0\0\1y", 6)));
	EXPECT_FALSE(can_read(std::string("\xFF\0\0\0\xFE", 5) + std::string(253, 'y')));
	EXPECT_TRUE(can_read(std::string("\xFF\0\0\0\xFE", 5) + std::string(254, 'y')));
}
