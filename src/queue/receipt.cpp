// receipt.cpp - see receipt.hpp; and queue_receipt.

#include "../postgres.hpp"

#include "receipt.hpp"

#include "../argument.hpp"
#include "../catalog/column.hpp"
#include "../catalog/own_table.hpp"
#include "../definition/compiled.hpp"
#include "../definition/open.hpp"
#include "../error.hpp"
#include "base64url.hpp"
#include "binary_value.hpp"
#include "receipt_form.hpp"

namespace queue_ext::queue {

using definition::ClaimMode;
using definition::Compiled;
using definition::Definition;
using receipt_form::ReceiptFault;
using receipt_form::Origin;
using statement::Row;

QUEUE_EXT_FUNCTION(queue_ext_queue_receipt);

// The limit of a receipt's bytes. A key has fewer than 3,000; the rest is what on_claim writes.
constexpr int max_receipt_bytes = 1024 * 1024;

namespace {

// The columns of the table whose values a receipt has: those of the key, then those of the fence.
struct Columns
{
	int count;
	int key_count;
	AttrNumber *numbers;
	Oid *types;
};

} // namespace

// The column is one of the table's now, since the definition was compiled under its lock; but
// user-defined code of this session may have changed it.
static void
add_column(Columns *columns, TupleDesc table, AttrNumber number)
{
	if (number > table->natts || TupleDescAttr(table, number - 1)->attisdropped)
		error::row_type_changed(table->tdtypeid);
	columns->numbers[columns->count] = number;
	columns->types[columns->count++] = TupleDescAttr(table, number - 1)->atttypid;
}

// The fence is what finish_row() compares: in a managed queue the attempt, in claim mode update the
// columns that on_claim writes; in the lock modes that this session holds the row.
static Columns
columns_of(Definition *definition, TupleDesc table)
{
	const catalog::RowKey &key = definition::receipt_key_of(definition);
	const Bitmapset *written = definition::compiled_of(definition).written;
	const int most = key.length + bms_num_members(written) + 1;
	Columns columns{};
	columns.numbers = static_cast<AttrNumber *>(palloc(sizeof(AttrNumber) * most));
	columns.types = static_cast<Oid *>(palloc(sizeof(Oid) * most));
	for (int i = 0; i < key.length; i++)
		add_column(&columns, table, key.columns[i].number);
	columns.key_count = columns.count;
	if (definition->is_managed) {
		add_column(&columns, table, definition::attempt_column(definition));
		return columns;
	}
	int member = -1;
	while ((member = bms_next_member(written, member)) >= 0)
		add_column(&columns, table,
				   static_cast<AttrNumber>(member + FirstLowInvalidHeapAttributeNumber));
	return columns;
}

static uint32
hash_of(const StringInfoData &bytes)
{
	return key::fnv1a_32(reinterpret_cast<const unsigned char *>(bytes.data),
						 static_cast<size_t>(bytes.len));
}

// The database is part of it: the OIDs in a copy of a database are the same.
static uint32
hash_of_queue(const Definition *definition)
{
	StringInfoData bytes;
	initStringInfo(&bytes);
	pq_sendint32(&bytes, MyDatabaseId);
	appendStringInfoString(&bytes, definition->name);
	return hash_of(bytes);
}

static uint32
hash_of_columns(const Definition *definition, const Columns &columns)
{
	StringInfoData bytes;
	initStringInfo(&bytes);
	pq_sendint8(&bytes, static_cast<uint8>(definition->claim_mode));
	pq_sendint16(&bytes, static_cast<uint16>(columns.key_count));
	for (int i = 0; i < columns.count; i++) {
		pq_sendint16(&bytes, static_cast<uint16>(columns.numbers[i]));
		pq_sendint32(&bytes, columns.types[i]);
	}
	return hash_of(bytes);
}

// The table's OID and the queue's name never change, whatever is renamed.
static Origin
origin_of(const Definition *definition, const Columns &columns)
{
	return {definition->source, hash_of_queue(definition), hash_of_columns(definition, columns)};
}

static bool
is_job_type(Oid type)
{
	return type == get_rel_type_id(catalog::own_relation("queue_job"));
}

// Returns the column of a queue_job that has the name and the type of the table's column. Raises
// 42804 if there is none.
static AttrNumber
column_of_job(const Definition *definition, TupleDesc job, AttrNumber number, Oid type)
{
	const char *name = get_attname(definition->source, number, false);
	const AttrNumber found = catalog::find_column(job, name, type);
	if (found != InvalidAttrNumber)
		return found;
	error::wrong_row_type(definition->name, definition->row_type, job->tdtypeid);
}

// Returns the number of the column in the row. Raises 42804 if the row does not have it so.
static AttrNumber
column_in(const Definition *definition, const Row &job, AttrNumber number, Oid type)
{
	if (job.columns->tdtypeid != definition->row_type)
		return column_of_job(definition, job.columns, number, type);
	if (number > job.columns->natts || TupleDescAttr(job.columns, number - 1)->atttypid != type)
		error::row_type_changed(definition->row_type);
	return number;
}

// Appends the value of the column, with its length. Raises 22004 for a null in the key.
static void
write_column(const Definition *definition, const Columns &columns, int i, const Row &job,
			 StringInfo bytes)
{
	HeapTupleData tuple = statement::tuple_of(job.value);
	const AttrNumber number = column_in(definition, job, columns.numbers[i], columns.types[i]);
	bool is_null;
	const Datum value = heap_getattr(&tuple, number, job.columns, &is_null);
	const char *name = NameStr(TupleDescAttr(job.columns, number - 1)->attname);
	if (is_null && i < columns.key_count)
		error::null_in_key(get_rel_name(definition->source), name);
	if (is_null) {
		appendStringInfoChar(bytes, '\0');
		return;
	}
	const bytea *binary = binary_of(value, columns.types[i], name);
	const size_t length = VARSIZE_ANY_EXHDR(binary);
	if (length > max_receipt_bytes)
		error::receipt_too_long(definition->name, max_receipt_bytes);
	unsigned char prefix[1 + receipt_form::number_size];
	const size_t prefix_length = receipt_form::write_length(length, prefix);
	appendBinaryStringInfo(bytes, reinterpret_cast<char *>(prefix),
						   static_cast<int>(prefix_length));
	appendBinaryStringInfo(bytes, VARDATA_ANY(binary), static_cast<int>(length));
}

static text *
text_of(const StringInfoData &bytes)
{
	const size_t length = base64url::encoded_length(static_cast<size_t>(bytes.len));
	auto *encoded = static_cast<text *>(palloc(VARHDRSZ + length));
	SET_VARSIZE(encoded, VARHDRSZ + length);
	base64url::encode(reinterpret_cast<unsigned char *>(bytes.data), static_cast<size_t>(bytes.len),
					  VARDATA(encoded));
	return encoded;
}

text *
make_receipt(Definition *definition, const Row &job)
{
	const Oid type = job.columns->tdtypeid;
	if (type != definition->row_type && !(definition->is_managed && is_job_type(type)))
		error::wrong_row_type(definition->name, definition->row_type, type);
	const Columns columns = columns_of(definition, statement::columns_of(definition->row_type));
	// Compiling may have run user-defined code that has altered the table.
	statement::check_readable(job.columns);
	StringInfoData bytes;
	initStringInfo(&bytes);
	unsigned char header[receipt_form::header_size];
	receipt_form::write_header(origin_of(definition, columns), header);
	appendBinaryStringInfo(&bytes, reinterpret_cast<char *>(header), sizeof(header));
	with_server_encoding([&] {
		for (int i = 0; i < columns.count; i++)
			write_column(definition, columns, i, job, &bytes);
	});
	pq_sendint32(&bytes, receipt_form::checksum_of(reinterpret_cast<unsigned char *>(bytes.data),
												   static_cast<size_t>(bytes.len)));
	if (bytes.len > max_receipt_bytes)
		error::receipt_too_long(definition->name, max_receipt_bytes);
	return text_of(bytes);
}

// Raises 22P02 unless the bytes are those of a receipt.
static receipt_form::Values
read_header(const ReceiptBytes &bytes, Origin *origin)
{
	receipt_form::Values values{};
	switch (receipt_form::read_header(bytes.start, static_cast<size_t>(bytes.length), origin,
									  &values)) {
		case ReceiptFault::none:
			return values;
		case ReceiptFault::version:
			error::malformed_receipt("It is of another version of queue_ext.");
		case ReceiptFault::mangled:
			error::malformed_receipt("Its checksum does not match.");
	}
	pg_unreachable();
}

ReceiptBytes
parse_receipt(const text *receipt)
{
	const size_t length = VARSIZE_ANY_EXHDR(receipt);
	if (length > base64url::encoded_length(max_receipt_bytes))
		error::malformed_receipt("It is longer than any receipt.");
	const size_t count = base64url::decoded_length(length);
	auto *start = static_cast<unsigned char *>(palloc(count + 1));
	if (!base64url::decode(VARDATA_ANY(receipt), length, start))
		error::malformed_receipt("It has other characters than a receipt, or misses some.");
	const ReceiptBytes bytes{start, static_cast<int>(count)};
	Origin origin{};
	(void) read_header(bytes, &origin);
	return bytes;
}

// Raises 22P02 unless the receipt has a value for each column and no more.
static void
read_columns(const Columns &columns, receipt_form::Values *from, Datum *values, bool *nulls)
{
	for (int i = 0; i < columns.count; i++) {
		receipt_form::ReceiptValue value{};
		if (!receipt_form::read_value(from, &value))
			error::malformed_receipt("It misses a value.");
		if (value.start == nullptr)
			continue;
		const int index = columns.numbers[i] - 1;
		values[index] = value_of_binary(reinterpret_cast<const char *>(value.start),
										static_cast<int>(value.length), columns.types[i]);
		nulls[index] = false;
	}
	if (from->at != from->end)
		error::malformed_receipt("It has more values than its queue.");
}

// Returns the values of the receipt of a queue with these columns.
static receipt_form::Values
values_of(const Definition *definition, const Columns &columns, const ReceiptBytes &bytes)
{
	const Origin wanted = origin_of(definition, columns);
	Origin origin{};
	const receipt_form::Values values = read_header(bytes, &origin);
	if (origin.table != wanted.table || origin.queue != wanted.queue)
		error::receipt_of_other(definition->name);
	if (origin.columns != wanted.columns)
		error::receipt_outdated(definition->name);
	return values;
}

void
check_receipt(Definition *definition, const ReceiptBytes &bytes)
{
	(void) definition::compiled_of(definition);
	TupleDesc table = statement::columns_of(definition->row_type);
	(void) values_of(definition, columns_of(definition, table), bytes);
}

Row
row_of_receipt(Definition *definition, const ReceiptBytes &bytes)
{
	(void) definition::compiled_of(definition);
	TupleDesc table = statement::columns_of(definition->row_type);
	const Columns columns = columns_of(definition, table);
	receipt_form::Values from = values_of(definition, columns, bytes);
	auto *values = static_cast<Datum *>(palloc0(sizeof(Datum) * table->natts));
	auto *nulls = static_cast<bool *>(palloc(sizeof(bool) * table->natts));
	memset(nulls, true, sizeof(bool) * table->natts);
	with_server_encoding(
		[&] { with_faults_of_receipt([&] { read_columns(columns, &from, values, nulls); }); });
	return {HeapTupleGetDatum(heap_form_tuple(table, values, nulls)), table};
}

// Writes nothing, so it may be called in a read-only transaction, too.
Datum
queue_ext_queue_receipt(PG_FUNCTION_ARGS)
{
	PreventCommandIfParallelMode("queue_receipt()");
	const text *name = argument::required_text(fcinfo, 0, "queue");
	argument::check_not_null(fcinfo, 1, "job");
	const Oid type = get_fn_expr_argtype(fcinfo->flinfo, 1);
	Definition *definition = nullptr;
	const auto open = [&] {
		definition = open_queue(name, definition::Use::read);
	};
	if (!OidIsValid(get_typ_typrelid(type))) {
		open();
		error::wrong_row_type(definition->name, definition->row_type, type);
	}
	TupleDesc columns = statement::lock_for_rows(type, open);
	PG_RETURN_TEXT_P(make_receipt(definition, {PG_GETARG_DATUM(1), columns}));
}

} // namespace queue_ext::queue
