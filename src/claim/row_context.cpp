// row_context.cpp - see row_context.hpp.

#include "../postgres.hpp"

#include "row_context.hpp"

#include "../definition/compiled.hpp"

namespace queue_ext::claim {

// Appends a value, if its text can be made without a function that might raise. A text is cut.
static bool
append_value(StringInfo text, Oid type, Datum value)
{
	constexpr int most_bytes = 64;
	switch (type) {
		case INT2OID:
			appendStringInfo(text, "%d", DatumGetInt16(value));
			return true;
		case INT4OID:
			appendStringInfo(text, "%d", DatumGetInt32(value));
			return true;
		case INT8OID:
			appendStringInfo(text, INT64_FORMAT, DatumGetInt64(value));
			return true;
		case UUIDOID: {
			const auto *uuid = DatumGetUUIDP(value);
			for (int i = 0; i < UUID_LEN; i++)
				appendStringInfo(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
								 uuid->data[i]);
			return true;
		}
		case TEXTOID:
		case VARCHAROID: {
			const auto *varlena = reinterpret_cast<const struct varlena *>(DatumGetPointer(value));
			if (VARATT_IS_EXTENDED(varlena) && !VARATT_IS_SHORT(varlena))
				return false;
			const int length = static_cast<int>(VARSIZE_ANY_EXHDR(varlena));
			const int shown = pg_mbcliplen(VARDATA_ANY(varlena), length, most_bytes);
			appendStringInfo(text, "%.*s%s", shown, VARDATA_ANY(varlena),
							 shown < length ? "..." : "");
			return true;
		}
		default:
			return false;
	}
}

// Appends the row's key: (a, b)=(1, x). False if that takes the functions of other types.
static bool
append_key(StringInfo text, const catalog::RowKey &key, TupleTableSlot *row)
{
	StringInfoData names;
	initStringInfo(&names);
	StringInfoData values;
	initStringInfo(&values);
	for (int i = 0; i < key.length; i++) {
		bool is_null;
		const catalog::KeyColumn &column = key.columns[i];
		if (column.number > row->tts_tupleDescriptor->natts)
			return false;
		const Datum value = slot_getattr(row, column.number, &is_null);
		appendStringInfo(&names, "%s%s", i == 0 ? "" : ", ", column.name);
		appendStringInfoString(&values, i == 0 ? "" : ", ");
		if (is_null)
			appendStringInfoString(&values, "null");
		else if (!append_value(&values, column.type, value))
			return false;
	}
	appendStringInfo(text, "row with key (%s)=(%s)", names.data, values.data);
	return true;
}

// Error context callback. A partition or a child may have its columns in another order. What the caller may not do
// is not due to the row.
static void
add_context(void *argument)
{
	const auto *context = static_cast<const RowContext *>(argument);
	const definition::Definition *definition = context->definition;
	TupleTableSlot *row = context->row;
	if (row != nullptr && !TTS_EMPTY(row) && geterrcode() != ERRCODE_INSUFFICIENT_PRIVILEGE) {
		StringInfoData text;
		initStringInfo(&text);
		const bool is_of_source = row->tts_tableOid == definition->source;
		const bool has_key = is_of_source && definition->compiled != nullptr &&
							 definition->compiled->row_key.has_key() &&
							 append_key(&text, definition->compiled->row_key, row);
		if (!has_key)
			appendStringInfo(&text, "row with ctid (%u,%u)",
							 ItemPointerGetBlockNumberNoCheck(&row->tts_tid),
							 ItemPointerGetOffsetNumberNoCheck(&row->tts_tid));
		if (!is_of_source)
			appendStringInfo(&text, " of the relation with OID %u", row->tts_tableOid);
		errcontext("%s", text.data);
	}
	if (context->act != nullptr)
		errcontext("%s queue \"%s\"", context->act, definition->name);
}

void
begin_context(RowContext *context, const definition::Definition *definition, const char *act)
{
	context->definition = definition;
	context->act = act;
	context->row = nullptr;
	context->callback.previous = error_context_stack;
	context->callback.callback = add_context;
	context->callback.arg = context;
	error_context_stack = &context->callback;
}

void
end_context(const RowContext *context)
{
	error_context_stack = context->callback.previous;
}

} // namespace queue_ext::claim
