// binary_value.cpp - see binary_value.hpp.

#include "../postgres.hpp"

#include "binary_value.hpp"

#include "../error.hpp"

namespace queue_ext::queue {

// Whether each value of the type is known to come back as the same bytes. For another, each is
// tried: an array may have room for nulls that it does not have, and XML its own encoding.
static bool
is_exact(Oid type)
{
	switch (type) {
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case FLOAT4OID:
		case FLOAT8OID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case NAMEOID:
		case CHAROID:
		case BYTEAOID:
		case UUIDOID:
		case DATEOID:
		case TIMEOID:
		case TIMETZOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case INTERVALOID:
			return true;
		default:
			return false;
	}
}

// The form of a domain is that of its base type: its constraints need not be checked, which could
// run user-defined code.
bytea *
binary_of(Datum value, Oid type, const char *column)
{
	const Oid base = getBaseType(type);
	Oid function;
	bool is_varlena;
	getTypeBinaryOutputInfo(base, &function, &is_varlena);
	bytea *binary = OidSendFunctionCall(function, value);
	if (is_exact(base))
		return binary;
	int16 length;
	bool by_value;
	get_typlenbyval(base, &length, &by_value);
	const Datum back =
		value_of_binary(VARDATA_ANY(binary), static_cast<int>(VARSIZE_ANY_EXHDR(binary)), base);
	if (!datum_image_eq(value, back, by_value, length))
		error::inexact_binary(column, type);
	return binary;
}

// The function gets a copy that ends with a zero byte, since it may write behind a part for a
// moment, as array_recv() does before 17.
Datum
value_of_binary(const char *bytes, int length, Oid type)
{
	Oid function;
	Oid parameter;
	getTypeBinaryInputInfo(getBaseType(type), &function, &parameter);
	StringInfoData buffer;
	initStringInfo(&buffer);
	appendBinaryStringInfo(&buffer, bytes, length);
	const Datum value = OidReceiveFunctionCall(function, &buffer, parameter, -1);
	if (buffer.cursor != buffer.len)
		error::malformed_receipt("A value is longer than its type.");
	return value;
}

} // namespace queue_ext::queue
