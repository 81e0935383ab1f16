// fnv.cpp - the SQL functions fnv1_32, fnv1_64, fnv1a_32, fnv1a_64 and
// fnv_lock_key.
//
// They allocate in the current context only (a detoasted or converted argument), which the executor
// resets for each row.

#include "postgres.hpp"

#include "key/fnv.hpp"
#include "key/utf8.hpp"

namespace queue_ext::key {
namespace {

// SQL has no unsigned integers, so the same bits are returned as a signed one.
Datum
signed_datum(std::uint32_t hash)
{
	return Int32GetDatum(static_cast<int32>(hash));
}

// The bits of a 64-bit hash as a signed integer.
Datum
signed_datum(std::uint64_t hash)
{
	return Int64GetDatum(static_cast<int64>(hash));
}

// Hashes the UTF-8 bytes of the text. Raises what utf8_of() raises.
template <auto hash>
Datum
hash_text(FunctionCallInfo fcinfo)
{
	const Bytes key = utf8_of(PG_GETARG_TEXT_PP(0));
	return signed_datum(hash(key.start, key.length));
}

// Hashes the bytes as they are.
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
// The SQL functions are strict, so no entry point looks for a null.
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
// The key that advisory_lock.hpp computes, for clients that take the lock in SQL.
Datum
queue_ext_fnv_lock_key(PG_FUNCTION_ARGS)
{
	const key::Bytes name = key::utf8_of(PG_GETARG_TEXT_PP(0));
	return Int64GetDatum(key::lock_key(name.start, name.length, PG_GETARG_INT32(1)));
}

QUEUE_EXT_FUNCTION(queue_ext_fnv_lock_key_bytea);
// No conversion: the name is given as bytes.
Datum
queue_ext_fnv_lock_key_bytea(PG_FUNCTION_ARGS)
{
	const key::Bytes name = key::bytes_of(PG_GETARG_BYTEA_PP(0));
	return Int64GetDatum(key::lock_key(name.start, name.length, PG_GETARG_INT32(1)));
}
