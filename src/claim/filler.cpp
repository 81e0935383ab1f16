// filler.cpp - see filler.hpp.

#include "../postgres.hpp"

#include "filler.hpp"

#include "claim_text.hpp"

namespace queue_ext::claim {

using queue::Arguments;
using queue::Definition;
using queue::Parameter;
using queue::Prepared;
using queue::Statement;

static const char *
order_columns(const Program *program, Oid table, const char *row)
{
	StringInfoData text;
	initStringInfo(&text);
	for (int i = 0; i < program->order_count; i++)
		appendStringInfo(&text, "%s%s.%s", i == 0 ? "" : ", ", row,
						 quote_identifier(get_attname(table, program->order_columns[i], false)));
	return text.data;
}

// The rows behind the cursor, which comes as a row of the table.
static const char *
behind_cursor(const Program *program, Oid table)
{
	const char *cursor = psprintf("(%s)", queue::placeholder(Parameter::row));
	return psprintf(" and row(%s) operator(pg_catalog.%s) row(%s)",
					order_columns(program, table, "t"),
					program->direction == queue::Direction::ascending ? ">" : "<",
					order_columns(program, table, cursor));
}

static const char *
fill_text(Definition *definition, const Program *program, bool is_behind)
{
	const char *columns =
		program->order_count == 0
			? "t.ctid"
			: psprintf("t.ctid, %s", order_columns(program, definition->source, "t"));
	return read_text(definition, columns,
					 is_behind ? behind_cursor(program, definition->source) : "", fill_size);
}

static const Statement &
statement_for(Definition *definition, const Program *program, bool is_behind)
{
	Statement *statement =
		&definition
			 ->prepared[static_cast<int>(is_behind ? Prepared::fill_behind : Prepared::fill_head)];
	if (!statement->is_prepared())
		queue::prepare(statement, fill_text(definition, program, is_behind), definition->row_type,
					   queue::compiled_of(definition).access);
	return *statement;
}

// The cursor for the row that the last statement returned last: a row of the
// table with the order's columns alone. Without one where it is too large.
static void
set_cursor(Cursor *cursor, const Program *program, Oid table, HeapTuple row)
{
	cursor->size = 0;
	if (program->order_count == 0)
		return;
	Relation relation = table_open(table, NoLock);
	TupleDesc descriptor = RelationGetDescr(relation);
	auto *values = static_cast<Datum *>(palloc0(sizeof(Datum) * descriptor->natts));
	auto *nulls = static_cast<bool *>(palloc(sizeof(bool) * descriptor->natts));
	memset(nulls, true, sizeof(bool) * descriptor->natts);
	for (int i = 0; i < program->order_count; i++) {
		const int index = program->order_columns[i] - 1;
		values[index] = SPI_getbinval(row, SPI_tuptable->tupdesc, i + 2, &nulls[index]);
		if (TupleDescAttr(descriptor, index)->attlen == -1 && !nulls[index])
			values[index] = PointerGetDatum(PG_DETOAST_DATUM(values[index]));
	}
	HeapTuple tuple = heap_form_tuple(descriptor, values, nulls);
	if (tuple->t_len <= max_cursor_size) {
		cursor->size = static_cast<uint16>(tuple->t_len);
		memcpy(cursor->bytes, tuple->t_data, tuple->t_len);
	}
	if (program->priority != InvalidAttrNumber)
		cursor->priority = DatumGetInt16(values[program->priority - 1]);
	if (program->run_at != InvalidAttrNumber)
		cursor->run_at = DatumGetTimestampTz(values[program->run_at - 1]);
	table_close(relation, NoLock);
}

static void
read(Definition *definition, const FillOrder &order, const Request &request, Fill *fill)
{
	const Program *program = program_of(definition);
	Arguments arguments = arguments_for(definition, request);
	const bool is_behind = !order.is_sweep && program->order_count > 0;
	if (is_behind)
		arguments.set(Parameter::row, PointerGetDatum(order.cursor.bytes));
	fill->began = GetCurrentTimestamp();
	fill->count =
		static_cast<int>(queue::run(statement_for(definition, program, is_behind), arguments));
	for (int i = 0; i < fill->count; i++) {
		bool is_null;
		const Datum place =
			SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &is_null);
		fill->places[i] = *reinterpret_cast<ItemPointer>(DatumGetPointer(place));
	}
	fill->is_complete = fill->count < fill_size;
	if (fill->count > 0)
		set_cursor(&fill->cursor, program, definition->source, SPI_tuptable->vals[fill->count - 1]);
	SPI_freetuptable(SPI_tuptable);
	fill->ended = GetCurrentTimestamp();
}

// Carries out an order to fill; on ERROR somebody else may.
static void
carry_out(Definition *definition, Ring *ring, const FillOrder &order, const Request &request,
		  Fill *fill)
{
	const RingKey key = program_of(definition)->key;
	PG_TRY();
	{
		read(definition, order, request, fill);
	}
	PG_CATCH();
	{
		cancel_fill(ring, key, order);
		PG_RE_THROW();
	}
	PG_END_TRY();
	finish_fill(ring, key, order, *fill);
}

// The order to fill, also when the one who has it is no more.
static FillOrder
take_order(Definition *definition, Ring *ring)
{
	const RingKey key = program_of(definition)->key;
	const FillOrder order = begin_fill(ring, key, GetCurrentTimestamp(), 0);
	const bool is_lost = order.filler == MyProcPid || BackendPidGetProc(order.filler) == nullptr;
	if (order.is_mine || order.filler == 0 || !is_lost)
		return order;
	return begin_fill(ring, key, GetCurrentTimestamp(), order.filler);
}

Filled
fill_or_wait(Definition *definition, Ring *ring, const Request &request)
{
	auto *fill = static_cast<Fill *>(palloc0(sizeof(Fill)));
	const FillOrder order = take_order(definition, ring);
	if (!order.is_mine) {
		if (order.filler == 0)
			return Filled::foreign;
		wait_for_fill(ring, program_of(definition)->key);
		return Filled::some;
	}
	carry_out(definition, ring, order, request, fill);
	return order.is_sweep && fill->count == 0 ? Filled::nothing : Filled::some;
}

void
fill_ahead(Definition *definition, Ring *ring, const Request &request)
{
	auto *fill = static_cast<Fill *>(palloc0(sizeof(Fill)));
	const FillOrder order = take_order(definition, ring);
	if (order.is_mine)
		carry_out(definition, ring, order, request, fill);
}

} // namespace queue_ext::claim
