// value_text.cpp - see value_text.hpp.

#include "../postgres.hpp"

#include "value_text.hpp"

#include "canonical.hpp"

namespace queue_ext::unique {

static void
append(StringInfo out, const char *value)
{
	append_string(out, value, static_cast<int>(strlen(value)));
}

// Uses the type's output function; for types whose output does not depend on settings.
static void
append_output(StringInfo out, Oid type, Datum value)
{
	Oid function;
	bool is_varlena;
	getTypeOutputInfo(type, &function, &is_varlena);
	append(out, OidOutputFunctionCall(function, value));
}

static void
append_number(StringInfo out, Datum hash)
{
	append(out, psprintf("#" INT64_FORMAT, DatumGetInt64(hash)));
}

// Values that are equal have the same extended hash, under the collation of the column. Only that of
// name ignores the collation.
static void
append_hash(StringInfo out, const RuleColumn &column, Datum value)
{
	const bool is_name = get_element_type(column.type) == NAMEOID &&
						 !get_collation_isdeterministic(column.collation);
	if (is_name || !OidIsValid(column.entry->hash_extended_proc)) {
		append(out, "*");
		return;
	}
	append_number(out, FunctionCall2Coll(&column.entry->hash_extended_proc_finfo, column.collation,
										 value, Int64GetDatum(0)));
}

static const char *
string_of(const RuleColumn &column, Datum value)
{
	return column.type == NAMEOID ? NameStr(*reinterpret_cast<NameData *>(DatumGetPointer(value)))
								  : TextDatumGetCString(value);
}

// Appends the hash that the string has as text.
static void
append_hash_as_text(StringInfo out, const RuleColumn &column, const char *string)
{
	const Datum text = PointerGetDatum(cstring_to_text(string));
	append_number(
		out, DirectFunctionCall2Coll(hashtextextended, column.collation, text, Int64GetDatum(0)));
}

// Strings that are equal under a nondeterministic collation may differ in their bytes, so their
// hash is used. Trailing blanks of character(n) do not count.
static void
append_text(StringInfo out, const RuleColumn &column, Datum value)
{
	const bool is_deterministic = get_collation_isdeterministic(column.collation);
	if (!is_deterministic && column.type != NAMEOID) {
		append_hash(out, column, value);
		return;
	}
	const char *string = string_of(column, value);
	if (!is_deterministic) {
		append_hash_as_text(out, column, string);
		return;
	}
	int length = static_cast<int>(strlen(string));
	while (column.type == BPCHAROID && length > 0 && string[length - 1] == ' ')
		length--;
	append_string(out, string, length);
}

// Hexadecimal, whatever bytea_output says.
static void
append_bytes(StringInfo out, Datum value)
{
	const bytea *bytes = DatumGetByteaPP(value);
	const size_t length = VARSIZE_ANY_EXHDR(bytes);
	auto *hex = static_cast<char *>(palloc_extended(2 * length + 1, MCXT_ALLOC_HUGE));
	hex[hex_encode(VARDATA_ANY(bytes), length, hex)] = '\0';
	append(out, hex);
}

// ISO 8601, whatever DateStyle says; a timestamptz in UTC.
static void
append_moment(StringInfo out, Oid type, Datum value)
{
	char moment[128 + 1]; // MAXDATELEN
	const int utc = 0;
	append(out, JsonEncodeDateTime(moment, value, type, type == TIMESTAMPTZOID ? &utc : nullptr));
}

// A jsonb value as a JSON string of its canonical text.
static void
append_document(StringInfo out, Datum value)
{
	StringInfoData document;
	initStringInfo(&document);
	append_value(&document, DatumGetJsonbP(value));
	append_string(out, document.data, document.len);
}

// The types are those whose text does not depend on settings; all others are hashed.
void
append_value_text(StringInfo out, const RuleColumn &column, Datum value)
{
	switch (column.type) {
		case BOOLOID:
			append(out, DatumGetBool(value) ? "true" : "false");
			return;
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case UUIDOID:
		case CHAROID:
			append_output(out, column.type, value);
			return;
		case NAMEOID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			append_text(out, column, value);
			return;
		case BYTEAOID:
			append_bytes(out, value);
			return;
		case NUMERICOID:
			append(out, numeric_normalize(DatumGetNumeric(value)));
			return;
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			append_moment(out, column.type, value);
			return;
		case JSONBOID:
			append_document(out, value);
			return;
		default:
			if (type_is_enum(column.type))
				append_output(out, column.type, value);
			else
				append_hash(out, column, value);
	}
}

bool
are_equal(const RuleColumn &column, Datum left, Datum right)
{
	return DatumGetBool(
		FunctionCall2Coll(&column.entry->eq_opr_finfo, column.collation, left, right));
}

} // namespace queue_ext::unique
