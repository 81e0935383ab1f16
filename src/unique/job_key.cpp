// job_key.cpp - see job_key.hpp.

#include "../postgres.hpp"

#include "job_key.hpp"

#include "../error.hpp"
#include "../key/fnv.hpp"
#include "../key/utf8.hpp"

namespace queue_ext::unique {

using definition::Definition;

// The keys of an object, for a message: the first of them.
static const char *
list_keys(Jsonb *payload)
{
	constexpr int most = 20;
	constexpr int most_bytes = 64;
	StringInfoData text;
	initStringInfo(&text);
	JsonbIterator *iterator = JsonbIteratorInit(&payload->root);
	JsonbValue value;
	JsonbIteratorToken token;
	int count = 0;
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE) {
		if (token != WJB_KEY)
			continue;
		if (++count > most) {
			appendStringInfoString(&text, ", ...");
			break;
		}
		const int length = pg_mbcliplen(value.val.string.val, value.val.string.len, most_bytes);
		appendStringInfo(&text, "%s\"%.*s%s\"", count == 1 ? "" : ", ", length,
						 value.val.string.val, length < value.val.string.len ? "..." : "");
	}
	return text.data;
}

// An empty list of names takes any payload: its values are {}. Of a job that has none of the keys nothing is
// compared, so that it would be the same as any other of these: a name is misspelt.
static void
append_values(StringInfo text, const Criteria &criteria, Jsonb *payload)
{
	if (criteria.is_whole) {
		append_value(text, payload);
		return;
	}
	if (criteria.names.count > 0 && !JB_ROOT_IS_OBJECT(payload))
		error::payload_is_no_object();
	if (append_keys(text, payload, criteria.names) == 0 && criteria.names.count > 0)
		error::payload_lacks_keys(list_keys(payload));
}

char *
values_of(const Criteria &criteria, Jsonb *payload, int *length)
{
	StringInfoData text;
	initStringInfo(&text);
	append_values(&text, criteria, payload);
	*length = text.len;
	return text.data;
}

// Appends seconds as a decimal fraction without trailing zeros.
static void
append_seconds(StringInfo text, uint64 microseconds)
{
	appendStringInfo(text, UINT64_FORMAT, microseconds / USECS_PER_SEC);
	auto rest = static_cast<int>(microseconds % USECS_PER_SEC);
	if (rest == 0)
		return;
	int digits = 6;
	for (; rest % 10 == 0; rest /= 10)
		digits--;
	appendStringInfo(text, ".%0*d", digits, rest);
}

// Appends the Unix time of the moment. The sum is unsigned: it can exceed what an int64 holds.
static void
append_epoch(StringInfo text, TimestampTz moment)
{
	constexpr int64 shift = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
	if (TIMESTAMP_IS_NOBEGIN(moment))
		appendStringInfoString(text, "-infinity");
	else if (TIMESTAMP_IS_NOEND(moment))
		appendStringInfoString(text, "infinity");
	else if (moment < -shift) {
		appendStringInfoChar(text, '-');
		append_seconds(text, static_cast<uint64>(-(moment + shift)));
	} else
		append_seconds(text, static_cast<uint64>(moment) + shift); // more than int64 has
}

// These fields are the same in the string of the lock, in unique_key and in the digest.
static void
append_criteria(StringInfo text, const Criteria &criteria)
{
	if (!criteria.is_whole)
		appendStringInfo(text, "|by=%s", criteria.by);
	if (!criteria.has_period())
		return;
	appendStringInfoString(text, "|period=");
	append_seconds(text, static_cast<uint64>(criteria.period));
	appendStringInfoString(text, "|bucket=");
	append_epoch(text, criteria.bucket);
}

// Appends the string of the lock up to the values.
static void
append_lock_prefix(StringInfo text, const Definition *definition, const Criteria &criteria)
{
	appendStringInfo(text, "unique_key|queue=%s", definition->lock_name);
	append_criteria(text, criteria);
	appendStringInfoString(text, "|args=");
}

char *
lock_string(const Definition *definition, const Criteria &criteria, const char *values)
{
	StringInfoData text;
	initStringInfo(&text);
	append_lock_prefix(&text, definition, criteria);
	appendStringInfoString(&text, values);
	return text.data;
}

KeyMaker
make_key_maker(const Definition *definition, const Criteria &criteria)
{
	KeyMaker maker{};
	maker.criteria = &criteria;
	initStringInfo(&maker.scratch);
	append_criteria(&maker.scratch, criteria);
	maker.suffix = pstrdup(maker.scratch.data);
	resetStringInfo(&maker.scratch);
	append_lock_prefix(&maker.scratch, definition, criteria);
	maker.prefix_length = maker.scratch.len;
	return maker;
}

// Overwrites the values in the scratch buffer and keeps the prefix before them.
JobKey
make_key(KeyMaker *maker, Jsonb *payload)
{
	JobKey key{};
	StringInfo text = &maker->scratch;
	text->len = maker->prefix_length;
	append_values(text, *maker->criteria, payload);
	key.lock = lock_named(text->data);
	key.values_length = text->len - maker->prefix_length;
	key.values = pnstrdup(text->data + maker->prefix_length, key.values_length);

	const key::Bytes values = key::utf8_of(key.values, key.values_length);
	const uint64 hash = key::fnv1a_64(values.start, values.length);
	key.text = psprintf("%08x%08x%s", static_cast<uint32>(hash >> 32), static_cast<uint32>(hash),
						maker->suffix);
	return key;
}

// Hashes UTF-8, as the locks do, so that the encoding of the database makes no difference.
Datum
digest_of(const Criteria &criteria, const JobKey &key)
{
	StringInfoData text;
	initStringInfo(&text);
	append_criteria(&text, criteria);
	appendStringInfoString(&text, "|args=");
	appendBinaryStringInfo(&text, key.values, key.values_length);
	const key::Bytes bytes = key::utf8_of(text.data, text.len);
	const auto *data = reinterpret_cast<const char *>(bytes.start);
	return DirectFunctionCall1(sha256_bytea, PointerGetDatum(cstring_to_text_with_len(
												 data, static_cast<int>(bytes.length))));
}

} // namespace queue_ext::unique
