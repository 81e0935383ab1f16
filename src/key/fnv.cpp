// fnv.cpp - the SQL functions fnv1_32, fnv1_64, fnv1a_32, fnv1a_64 and
// fnv_lock_key.
//
// They allocate in the caller's context only (a detoasted or a converted
// argument), which the executor resets for each row.
#include "postgres.hpp"

#include "key/fnv.hpp"
#include "key/utf8.hpp"

namespace queue_ext::key {
namespace {

// SQL has no unsigned integers: the same bits, read as signed.
Datum
signed_datum(std::uint32_t hash)
{
	return Int32GetDatum(static_cast<int32>(hash));
}

Datum
signed_datum(std::uint64_t hash)
{
	return Int64GetDatum(static_cast<int64>(hash));
}

template <auto hash>
Datum
hash_text(FunctionCallInfo fcinfo)
{
	const Bytes key = utf8_of(PG_GETARG_TEXT_PP(0));
	return signed_datum(hash(key.start, key.length));
}

template <auto hash>
Datum
hash_bytea(FunctionCallInfo fcinfo)
{
	const Bytes key = bytes_of(PG_GETARG_BYTEA_PP(0));
	return signed_datum(hash(key.start, key.length));
}

} // namespace
} // namespace queue_ext::key

namespace key = queue_ext::key;

QUEUE_EXT_FUNCTION(queue_ext_fnv1_32_text);
Datum
queue_ext_fnv1_32_text(PG_FUNCTION_ARGS)
{
	return key::hash_text<key::fnv1_32>(fcinfo);
}

QUEUE_EXT_FUNCTION(queue_ext_fnv1_32_bytea);
Datum
queue_ext_fnv1_32_bytea(PG_FUNCTION_ARGS)
{
	return key::hash_bytea<key::fnv1_32>(fcinfo);
}

QUEUE_EXT_FUNCTION(queue_ext_fnv1_64_text);
Datum
queue_ext_fnv1_64_text(PG_FUNCTION_ARGS)
{
	return key::hash_text<key::fnv1_64>(fcinfo);
}

QUEUE_EXT_FUNCTION(queue_ext_fnv1_64_bytea);
Datum
queue_ext_fnv1_64_bytea(PG_FUNCTION_ARGS)
{
	return key::hash_bytea<key::fnv1_64>(fcinfo);
}

QUEUE_EXT_FUNCTION(queue_ext_fnv1a_32_text);
Datum
queue_ext_fnv1a_32_text(PG_FUNCTION_ARGS)
{
	return key::hash_text<key::fnv1a_32>(fcinfo);
}

QUEUE_EXT_FUNCTION(queue_ext_fnv1a_32_bytea);
Datum
queue_ext_fnv1a_32_bytea(PG_FUNCTION_ARGS)
{
	return key::hash_bytea<key::fnv1a_32>(fcinfo);
}

QUEUE_EXT_FUNCTION(queue_ext_fnv1a_64_text);
Datum
queue_ext_fnv1a_64_text(PG_FUNCTION_ARGS)
{
	return key::hash_text<key::fnv1a_64>(fcinfo);
}

QUEUE_EXT_FUNCTION(queue_ext_fnv1a_64_bytea);
Datum
queue_ext_fnv1a_64_bytea(PG_FUNCTION_ARGS)
{
	return key::hash_bytea<key::fnv1a_64>(fcinfo);
}

QUEUE_EXT_FUNCTION(queue_ext_fnv_lock_key);
Datum
queue_ext_fnv_lock_key(PG_FUNCTION_ARGS)
{
	const key::Bytes name = key::utf8_of(PG_GETARG_TEXT_PP(0));
	return Int64GetDatum(key::lock_key(name.start, name.length, PG_GETARG_INT32(1)));
}

QUEUE_EXT_FUNCTION(queue_ext_fnv_lock_key_bytea);
Datum
queue_ext_fnv_lock_key_bytea(PG_FUNCTION_ARGS)
{
	const key::Bytes name = key::bytes_of(PG_GETARG_BYTEA_PP(0));
	return Int64GetDatum(key::lock_key(name.start, name.length, PG_GETARG_INT32(1)));
}
