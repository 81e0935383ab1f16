// cursor_row.cpp - see cursor_row.hpp.

#include "../postgres.hpp"

#include "cursor_row.hpp"

namespace queue_ext::claim {

namespace cursor = ring::cursor;
using cursor::Form;
using cursor::Value;
using ring::Cursor;
using ring::max_cursor_size;

// Finds the bytes of the value, detoasted; false if there are too many. Those of a type passed by
// value are put into *word.
static bool
bytes_of(const FormData_pg_attribute *attribute, Datum value, Datum *word, Value *bytes)
{
	const unsigned char *start = reinterpret_cast<unsigned char *>(DatumGetPointer(value));
	if (attribute->attbyval) {
		store_att_byval(word, value, attribute->attlen);
		start = reinterpret_cast<unsigned char *>(word);
	}
	if (attribute->attlen > 0) {
		*bytes = {start, static_cast<size_t>(attribute->attlen)};
		return true;
	}
	if (toast_raw_datum_size(value) > max_cursor_size + VARHDRSZ)
		return false;
	const struct varlena *flat = PG_DETOAST_DATUM_PACKED(value);
	*bytes = {reinterpret_cast<const unsigned char *>(VARDATA_ANY(flat)), VARSIZE_ANY_EXHDR(flat)};
	return true;
}

// Where a value is null there is no cursor, as the comparison would not be true for any row.
Cursor
cursor_of(const RingClaim *claim, TupleDesc columns, HeapTuple row, int first)
{
	Cursor result{};
	auto *values = static_cast<Value *>(palloc(sizeof(Value) * claim->order_count));
	auto *words = static_cast<Datum *>(palloc(sizeof(Datum) * claim->order_count));
	bool fits = true;
	for (int i = 0; i < claim->order_count && fits; i++) {
		bool is_null;
		const Datum value = SPI_getbinval(row, columns, first + i, &is_null);
		fits = !is_null &&
			   bytes_of(TupleDescAttr(columns, first + i - 1), value, &words[i], &values[i]);
	}
	if (fits)
		result.size = static_cast<uint16>(cursor::write(
			result.bytes, max_cursor_size, claim->cursor_columns, values, claim->order_count));
	return result;
}

// Makes a Datum of the bytes: a copy, as they are not aligned.
static Datum
datum_of(const FormData_pg_attribute *attribute, const Value &bytes)
{
	if (attribute->attlen > 0) {
		char *copy = static_cast<char *>(palloc(bytes.length));
		memcpy(copy, bytes.start, bytes.length);
		return fetch_att(copy, attribute->attbyval, attribute->attlen);
	}
	return PointerGetDatum(cstring_to_text_with_len(reinterpret_cast<const char *>(bytes.start),
													static_cast<int>(bytes.length)));
}

// Whether the bytes, if a text, are valid in the database's encoding.
static bool
is_encoded(const cursor::Column &column, const Value &value)
{
	return column.form != Form::text || pg_verifymbstr(reinterpret_cast<const char *>(value.start),
													   static_cast<int>(value.length), true);
}

// Every value is checked before the first Datum is made.
bool
make_row(const RingClaim *claim, const Cursor &cursor, Datum *row)
{
	auto *found = static_cast<Value *>(palloc(sizeof(Value) * claim->order_count));
	if (cursor.size > max_cursor_size ||
		!cursor::read(cursor.bytes, cursor.size, claim->cursor_columns, found, claim->order_count))
		return false;
	for (int i = 0; i < claim->order_count; i++)
		if (!is_encoded(claim->cursor_columns[i], found[i]))
			return false;
	Relation relation = table_open(claim->key.table, NoLock);
	const TupleDesc descriptor = RelationGetDescr(relation);
	auto *values = static_cast<Datum *>(palloc0(sizeof(Datum) * descriptor->natts));
	auto *nulls = static_cast<bool *>(palloc(sizeof(bool) * descriptor->natts));
	memset(nulls, true, sizeof(bool) * descriptor->natts);
	for (int i = 0; i < claim->order_count; i++) {
		const int index = claim->order_columns[i].number - 1;
		values[index] = datum_of(TupleDescAttr(descriptor, index), found[i]);
		nulls[index] = false;
	}
	*row = HeapTupleGetDatum(heap_form_tuple(descriptor, values, nulls));
	table_close(relation, NoLock);
	return true;
}

} // namespace queue_ext::claim
