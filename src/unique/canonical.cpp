// canonical.cpp - see canonical.hpp.

#include "../postgres.hpp"

#include "canonical.hpp"

#include "../error.hpp"

namespace queue_ext::unique {

// Orders keys as jsonb does: getKeyJsonValueFromContainer() and the text agree on it.
static int
compare_names(const void *left, const void *right)
{
	const auto *a = static_cast<const KeyName *>(left);
	const auto *b = static_cast<const KeyName *>(right);
	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	return memcmp(a->bytes, b->bytes, a->length);
}

Names
read_names(const char *what, ArrayType *array)
{
	if (array_contains_nulls(array))
		error::null_element(what);
	Datum *elements;
	Names names{};
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &elements, nullptr, &names.count);
	names.list = static_cast<KeyName *>(palloc(sizeof(KeyName) * Max(names.count, 1)));
	for (int i = 0; i < names.count; i++) {
		const text *name = DatumGetTextPP(elements[i]);
		names.list[i] = {VARDATA_ANY(name), static_cast<int>(VARSIZE_ANY_EXHDR(name))};
	}
	qsort(names.list, names.count, sizeof(KeyName), compare_names);
	int kept = 0;
	for (int i = 0; i < names.count; i++)
		if (kept == 0 || compare_names(&names.list[i], &names.list[kept - 1]) != 0)
			names.list[kept++] = names.list[i];
	names.count = kept;
	return names;
}

// Copies the string, since escape_json() needs it null-terminated.
void
append_string(StringInfo text, const char *bytes, int length)
{
	char *string = pnstrdup(bytes, length);
	escape_json(text, string);
	pfree(string);
}

void
append_names(StringInfo text, const Names &names)
{
	appendStringInfoChar(text, '[');
	for (int i = 0; i < names.count; i++) {
		if (i > 0)
			appendStringInfoString(text, ", ");
		append_string(text, names.list[i].bytes, names.list[i].length);
	}
	appendStringInfoChar(text, ']');
}

// Drops trailing zeros: numerics that compare equal may differ in their scale.
static void
append_number(StringInfo text, Numeric number)
{
	char *digits = numeric_normalize(number);
	appendStringInfoString(text, digits);
	pfree(digits);
}

// The value must be a scalar: the iterator descends into arrays and objects.
static void
append_scalar(StringInfo text, const JsonbValue *value)
{
	switch (value->type) {
		case jbvNull:
			appendStringInfoString(text, "null");
			break;
		case jbvBool:
			appendStringInfoString(text, value->val.boolean ? "true" : "false");
			break;
		case jbvNumeric:
			append_number(text, value->val.numeric);
			break;
		case jbvString:
			append_string(text, value->val.string.val, value->val.string.len);
			break;
		default:
			elog(ERROR, "unexpected type of JSON value: %d", static_cast<int>(value->type));
	}
}

// As JsonbToCString(), but with append_number(). A scalar is stored as an array of one element,
// whose brackets are left out.
static void
append_container(StringInfo text, JsonbContainer *container)
{
	const bool is_scalar = JsonContainerIsScalar(container);
	JsonbIterator *iterator = JsonbIteratorInit(container);
	JsonbValue value;
	bool needs_comma = false;
	for (;;) {
		CHECK_FOR_INTERRUPTS();
		const JsonbIteratorToken token = JsonbIteratorNext(&iterator, &value, false);
		if (token == WJB_DONE)
			return;
		const bool is_end = token == WJB_END_ARRAY || token == WJB_END_OBJECT;
		if (needs_comma && !is_end)
			appendStringInfoString(text, ", ");
		needs_comma = true;
		switch (token) {
			case WJB_BEGIN_ARRAY:
				if (!is_scalar)
					appendStringInfoChar(text, '[');
				needs_comma = false;
				break;
			case WJB_BEGIN_OBJECT:
				appendStringInfoChar(text, '{');
				needs_comma = false;
				break;
			case WJB_KEY:
				append_scalar(text, &value);
				appendStringInfoString(text, ": ");
				needs_comma = false;
				break;
			case WJB_END_ARRAY:
				if (!is_scalar)
					appendStringInfoChar(text, ']');
				break;
			case WJB_END_OBJECT:
				appendStringInfoChar(text, '}');
				break;
			default: // WJB_VALUE, WJB_ELEM
				append_scalar(text, &value);
				break;
		}
	}
}

void
append_value(StringInfo text, Jsonb *value)
{
	append_container(text, &value->root);
}

int
append_keys(StringInfo text, Jsonb *value, const Names &names)
{
	int count = 0;
	appendStringInfoChar(text, '{');
	for (int i = 0; i < names.count; i++) {
		JsonbValue found;
		const KeyName &name = names.list[i];
		if (getKeyJsonValueFromContainer(&value->root, name.bytes, name.length, &found) == nullptr)
			continue;
		if (count++ > 0)
			appendStringInfoString(text, ", ");
		append_string(text, name.bytes, name.length);
		appendStringInfoString(text, ": ");
		if (found.type == jbvBinary)
			append_container(text, found.val.binary.data);
		else
			append_scalar(text, &found);
	}
	appendStringInfoChar(text, '}');
	return count;
}

} // namespace queue_ext::unique
