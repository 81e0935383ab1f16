// fill.cpp - see fill.hpp.

#include "../postgres.hpp"

#include "fill.hpp"

#include "../definition/compiled.hpp"
#include "../ring/due_rows.hpp"
#include "../row/rights.hpp"
#include "../statement/row_type.hpp"
#include "../wake/written.hpp"
#include "claim_text.hpp"
#include "compiled_claim.hpp"
#include "cursor_row.hpp"
#include "managed_rows.hpp"
#include "pending_clock.hpp"

namespace queue_ext::claim {

using definition::Definition;
using ring::Candidate;
using ring::Cursor;
using ring::DueJob;
using ring::Fill;
using ring::FillOrder;
using ring::Kinds;
using ring::Ring;
using ring::SortKey;
using ring::due_size;
using ring::fill_size;
using ring::slot_counts;
using ring::no_kind;
using statement::Arguments;
using statement::Parameter;
using statement::Statement;

// A column of the order, of that row.
static const char *
column_text(const RingClaim *claim, int column, const char *row)
{
	return psprintf("%s.%s", row,
					quote_identifier(
						get_attname(claim->key.table, claim->order_columns[column].number, false)));
}

// The order's columns from first to before end, of that row, as a list in SQL.
static const char *
column_list(const RingClaim *claim, int first, int end, const char *row)
{
	StringInfoData text;
	initStringInfo(&text);
	for (int i = first; i < end; i++)
		appendStringInfo(&text, "%s%s", i == first ? "" : ", ", column_text(claim, i, row));
	return text.data;
}

// The condition for the rows behind the cursor, a row of the table, that are equal to it in all runs of columns before
// this one.
static const char *
behind_cursor(const RingClaim *claim, int run)
{
	const int first = claim->runs[run];
	const int end = claim->runs[run + 1];
	const char *cursor = psprintf("(%s)", statement::placeholder(Parameter::row));
	StringInfoData text;
	initStringInfo(&text);
	for (int i = 0; i < first; i++)
		appendStringInfo(&text, " and %s operator(pg_catalog.=) %s", column_text(claim, i, "t"),
						 column_text(claim, i, cursor));
	appendStringInfo(&text, " and row(%s) operator(pg_catalog.%s) row(%s)",
					 column_list(claim, first, end, "t"),
					 claim->order_columns[first].is_descending ? "<" : ">",
					 column_list(claim, first, end, cursor));
	return text.data;
}

// A fill reads one row more than it takes, which shows whether the last one that it takes has
// equals behind it.
constexpr int read_size = fill_size + 1;
// Before the order's columns come TID and xmin, behind them the table.
constexpr int first_order_column = 3;

// Reads TID, xmin and the table, by which a candidate recognizes its row, the order's columns for the
// cursor, and since when the row has been ready, where an attached queue has named that column. Where rows are read by
// the index, it reads none (show_to_hook()).
static const char *
fill_text(Definition *definition, const RingClaim *claim, const char *condition)
{
	const char *order = claim->order_count == 0
							? ""
							: psprintf("%s, ", column_list(claim, 0, claim->order_count, "t"));
	const char *ready_at = claim->ready_at == InvalidAttrNumber
							   ? ""
							   : psprintf(", t.%s", quote_identifier(definition->ages.ready_at));
	return read_text(definition, psprintf("t.ctid, t.xmin, %st.tableoid%s", order, ready_at),
					 condition, claim->key.is_sorted ? 0 : read_size);
}

// Each branch reads one kind in the order, and the planner merges them, so that of each kind no more is
// read than the fill takes, and one row. The limits keep the branches apart: a condition on the kind
// within the merge would not tell the planner that its index has the order. Where a column of the order may be null, there is
// nothing to merge by.
static const char *
kind_fill_text(Definition *definition, const RingClaim *claim, const Kinds &kinds,
			   const char *condition)
{
	if (kinds.count == 1 || claim->order_count == 0)
		return fill_text(definition, claim,
						 psprintf("%s%s", ring::kind_condition(ring::form_of(&kinds)), condition));
	const char *columns = psprintf("t.ctid as ctid, t.xmin as xmin, %s, t.tableoid as tableoid",
								   column_list(claim, 0, claim->order_count, "t"));
	StringInfoData text;
	initStringInfo(&text);
	for (int i = 0; i < slot_count(kinds); i++)
		appendStringInfo(
			&text, "%s(%s)", i == 0 ? "" : " union all ",
			read_text(definition, columns,
					  psprintf(" and t.kind operator(pg_catalog.=) (%s)[%d]%s",
							   statement::placeholder(Parameter::kinds), i + 1, condition),
					  read_size));
	return psprintf("select t.* from (%s) as t order by %s limit %d", text.data,
					definition::compiled_of(definition).order_by, read_size);
}

static definition::KeptStatement
kept_fill(Definition *definition, Statement **place)
{
	return {statement_at(definition, place), act_of(ClaimStatement::fill_head)};
}

// The statement for the call's kinds, behind the cursor or at the head. Only managed queues have kinds, and their order
// is one run of columns.
static const Statement &
statement_of_kinds(Definition *definition, const RingClaim *claim, bool is_behind)
{
	auto *kept = definition::beside<ClaimsKept>(definition);
	if (kept->kind_fills == nullptr)
		kept->kind_fills = static_cast<Statement **>(
			definition::allocate_beside(definition, sizeof(Statement *) * 2 * slot_counts));
	const Kinds &kinds = *claim->kinds;
	return prepared_of(definition,
					   kept_fill(definition, &kept->kind_fills[2 * slot_place(kinds) + is_behind]),
					   statement::Access::by_kind, [&] {
						   return kind_fill_text(definition, claim, kinds,
												 is_behind ? behind_cursor(claim, 0) : "");
					   });
}

static const Statement &
statement_at_head(Definition *definition, const RingClaim *claim)
{
	return prepared_of(definition, kept_for_claims(definition, ClaimStatement::fill_head),
					   definition::compiled_of(definition).access,
					   [&] { return fill_text(definition, claim, ""); });
}

static const Statement &
statement_behind(Definition *definition, const RingClaim *claim, int run)
{
	auto *kept = definition::beside<ClaimsKept>(definition);
	if (kept->fills == nullptr)
		kept->fills = static_cast<Statement **>(
			definition::allocate_beside(definition, sizeof(Statement *) * claim->run_count));
	return prepared_of(definition, kept_fill(definition, &kept->fills[run]),
					   definition::compiled_of(definition).access,
					   [&] { return fill_text(definition, claim, behind_cursor(claim, run)); });
}

namespace {

// What the statements of a fill have returned, in the order. SPI_finish() frees it.
struct Rows
{
	HeapTuple tuples[read_size];
	TupleDesc columns;
	int count;

	bool is_full() const
	{
		return count == read_size;
	}
	Datum value(int row, int column) const
	{
		bool is_null;
		return SPI_getbinval(tuples[row], columns, column, &is_null);
	}
};

} // namespace

// Adds the rows of one statement, as far as there is room.
static void
add_rows(Rows *rows, Snapshot snapshot, const Statement &statement, const Arguments &arguments)
{
	const uint64 count = statement::run_under(snapshot, statement, arguments);
	rows->columns = SPI_tuptable->tupdesc;
	for (uint64 i = 0; i < count && !rows->is_full(); i++)
		rows->tuples[rows->count++] = SPI_tuptable->vals[i];
}

// The rows that are equal to the cursor in all columns before the last run come first, then those
// that are so in all before the run before it, and so on; no statement of these reads what lies
// before the cursor.
static void
add_rows_behind(Rows *rows, Definition *definition, const RingClaim *claim, Snapshot snapshot,
				const Arguments &arguments)
{
	for (int run = claim->run_count - 1; run >= 0 && !rows->is_full(); run--)
		add_rows(rows, snapshot, statement_behind(definition, claim, run), arguments);
}

// False if the bytes of the cursor are no such row (make_row()).
static bool
set_cursor_argument(Arguments *arguments, const RingClaim *claim, const Cursor &cursor)
{
	Datum row;
	if (!make_row(claim, cursor, &row))
		return false;
	arguments->set_row(row, statement::columns_of(get_rel_type_id(claim->key.table)));
	return true;
}

// Since when an attached queue's row has been ready, in the last column; DT_NOBEGIN: the queue names no such
// column, or it is null.
static TimestampTz
ready_at_of(const RingClaim *claim, const Rows &rows, int row)
{
	if (claim->ready_at == InvalidAttrNumber)
		return DT_NOBEGIN;
	bool is_null;
	const Datum ready_at =
		SPI_getbinval(rows.tuples[row], rows.columns, rows.columns->natts, &is_null);
	return is_null ? DT_NOBEGIN : DatumGetTimestampTz(ready_at);
}

static TransactionId
writer_of(const Rows &rows, int row)
{
	return DatumGetTransactionId(rows.value(row, 2));
}

static Candidate
candidate_of(const RingClaim *claim, const Rows &rows, int row)
{
	Candidate candidate{};
	candidate.tid = *reinterpret_cast<ItemPointer>(DatumGetPointer(rows.value(row, 1)));
	candidate.run_at = ready_at_of(claim, rows, row);
	candidate.version.writer = writer_of(rows, row);
	candidate.version.table =
		DatumGetObjectId(rows.value(row, first_order_column + claim->order_count));
	return candidate;
}

// Whether two rows are equal in the order, by the comparison of the columns' types. The last column
// is the one that most likely differs.
static bool
are_equal(const RingClaim *claim, const Rows &rows, int row, int other)
{
	for (int i = claim->order_count - 1; i >= 0; i--) {
		const int column = first_order_column + i;
		const Form_pg_attribute attribute = TupleDescAttr(rows.columns, column - 1);
		TypeCacheEntry *type = lookup_type_cache(attribute->atttypid, TYPECACHE_EQ_OPR_FINFO);
		if (!DatumGetBool(FunctionCall2Coll(&type->eq_opr_finfo, attribute->attcollation,
											rows.value(row, column), rows.value(other, column))))
			return false;
	}
	return true;
}

// How many rows a full fill takes: those before the equals of the row that it has read in excess; 0
// if all are equal to it.
static int
count_before_last(const RingClaim *claim, const Rows &rows)
{
	int count = fill_size;
	while (count > 0 && are_equal(claim, rows, count - 1, fill_size))
		count--;
	return count;
}

// Puts the cursor behind the last row that has no equals behind it, and leaves what comes after that
// to the next fill. Where there is no such row, the cursor stays where it was.
static void
set_cursor(const RingClaim *claim, const FillOrder &order, const Rows &rows, Fill *fill)
{
	int count = 0;
	if (claim->order_count > 0)
		count = rows.is_full() ? count_before_last(claim, rows) : rows.count;
	if (count > 0) {
		fill->count = count;
		fill->cursor = cursor_of(claim, rows.columns, rows.tuples[count - 1], first_order_column);
	} else if (!order.is_sweep)
		fill->cursor = order.cursor;
	fill->reads_again = rows.count > 0 && (count == 0 || fill->cursor.size == 0);
}

// No two rows have the same sort key.
static void
set_sort_key(Fill *fill)
{
	if (fill->count == 0)
		return;
	fill->cursor.size = sizeof(SortKey);
	fill->cursor.sort_key = fill->candidates[fill->count - 1].sort_key();
}

static void
note_writer(Fill *fill, TransactionId writer)
{
	fill->has_own |= TransactionIdIsValid(GetTopTransactionIdIfAny()) &&
					 TransactionIdIsCurrentTransactionId(writer);
}

// What this transaction offers, and no other backend can see yet, is not for the ring: the call merges it with what the
// ring has.
static void
leave_offers_out(Oid table, Fill *fill)
{
	if (!wake::has_offers(table))
		return;
	int count = 0;
	for (int i = 0; i < fill->count; i++)
		if (!wake::is_offered(table, fill->candidates[i].tid))
			fill->candidates[count++] = fill->candidates[i];
	fill->count = count;
}

// Of an attached queue, and of a managed one whose ring is not sorted.
static bool
read_by_statement(Definition *definition, const FillOrder &order, Arguments *arguments, Fill *fill)
{
	const RingClaim *claim = ring_claim_of(definition);
	const bool is_behind = !order.is_sweep && claim->order_count > 0;
	if (is_behind && !set_cursor_argument(arguments, claim, order.cursor))
		return false;
	auto *rows = static_cast<Rows *>(palloc0(sizeof(Rows)));
	statement::with_newest(arguments, [&](Snapshot snapshot) {
		if (claim->kinds != nullptr)
			add_rows(rows, snapshot, statement_of_kinds(definition, claim, is_behind), *arguments);
		else if (is_behind)
			add_rows_behind(rows, definition, claim, snapshot, *arguments);
		else
			add_rows(rows, snapshot, statement_at_head(definition, claim), *arguments);
	});
	fill->is_complete = !rows->is_full();
	fill->count = Min(rows->count, fill_size);
	for (int i = 0; i < fill->count; i++) {
		fill->candidates[i] = candidate_of(claim, *rows, i);
		note_writer(fill, writer_of(*rows, i));
	}
	set_cursor(claim, order, *rows, fill);
	return true;
}

// An extension that checks the privileges of statements, or records what they read, is shown one that names the columns
// that the index read takes, and reads no row. Raises what the extension raises.
static void
show_to_hook(Definition *definition, Snapshot snapshot, const Arguments &arguments)
{
	if (!row::has_permission_hook())
		return;
	(void) statement::run_under(snapshot, statement_at_head(definition, ring_claim_of(definition)),
								arguments);
	SPI_freetuptable(SPI_tuptable);
}

// One more than there is room for, which tells until when they are all.
constexpr int due_read_size = due_size + 1;

// Enters the first rows to come, in the order of their times, of which due_read_size were asked for; and has a sweep look for
// the rest. Returns the time from which on there may be more.
static TimestampTz
expect_first(Ring *ring, const RingClaim *claim, const DueJob *jobs, int count)
{
	expect_rows(ring, claim->key, jobs, Min(count, due_size));
	if (count <= due_size)
		return PG_INT64_MAX;
	expect(ring, claim->key, jobs[due_size].row.due);
	return jobs[due_size].row.due;
}

// Of a managed queue. What is passed by comes before the cursor from now on, where nobody reads again: it is entered among the rows
// to come. A sweep that finds none has these counted apart.
static void
read_by_index(Definition *definition, Ring *ring, const FillOrder &order, Arguments *arguments,
			  Fill *fill)
{
	const RingClaim *claim = ring_claim_of(definition);
	auto *rows = static_cast<ReadyRow *>(palloc(sizeof(ReadyRow) * read_size));
	PassedBy passed{static_cast<DueJob *>(palloc(sizeof(DueJob) * due_read_size)), due_read_size};
	int count = 0;
	statement::with_newest(arguments, [&](Snapshot snapshot) {
		show_to_hook(definition, snapshot, *arguments);
		count =
			read_ready(claim, snapshot, arguments->call_time(),
					   order.is_sweep ? nullptr : &order.cursor.sort_key, rows, read_size, &passed);
	});
	fill->is_complete = count < read_size;
	if (!order.is_sweep || count > 0)
		fill->next_due = expect_first(ring, claim, passed.jobs, passed.count);
	fill->count = Min(count, fill_size);
	for (int i = 0; i < fill->count; i++) {
		fill->candidates[i] = rows[i].candidate;
		note_writer(fill, rows[i].writer);
	}
	set_sort_key(fill);
	if (fill->has_own)
		leave_offers_out(claim->key.table, fill);
}

bool
read_rows(Definition *definition, Ring *ring, const FillOrder &order, Arguments *arguments,
		  Fill *fill)
{
	if (!ring_claim_of(definition)->key.is_sorted)
		return read_by_statement(definition, order, arguments, fill);
	read_by_index(definition, ring, order, arguments, fill);
	return true;
}

// Not of the rows that the sweep has seen pending, by the same clock.
static const char *
attached_due_rows_text(Definition *definition)
{
	const RingClaim *claim = ring_claim_of(definition);
	return psprintf("select t.ctid, t.xmin, %s as due from %s as t where %s and (%s) is not true"
					" and %s operator(pg_catalog.<) %s order by 3 limit %d",
					claim->due->text, definition->source_name, claim->due->condition,
					definition::compiled_of(definition).pending, claim->due->text, never_due_text,
					due_read_size);
}

static DueJob
attached_due_job_of(const RingClaim *claim, HeapTuple row)
{
	enum Column : int { tid = 1, writer, due };
	bool is_null;
	const auto value = [&](Column column) {
		return SPI_getbinval(row, SPI_tuptable->tupdesc, column, &is_null);
	};
	return {{ring::attached_candidate(*reinterpret_cast<ItemPointer>(DatumGetPointer(value(tid))),
									  DatumGetTransactionId(value(writer)), claim->key.table),
			 DatumGetTimestampTz(value(due))},
			no_kind};
}

// Returns the number of rows.
static int
read_first_due_by_statement(Definition *definition, Snapshot snapshot, const Arguments &arguments,
							DueJob *jobs)
{
	const Statement &statement =
		prepared_of(definition, kept_for_claims(definition, ClaimStatement::due_rows),
					[&] { return attached_due_rows_text(definition); });
	const int count = static_cast<int>(statement::run_under(snapshot, statement, arguments));
	for (int i = 0; i < count; i++)
		jobs[i] = attached_due_job_of(ring_claim_of(definition), SPI_tuptable->vals[i]);
	SPI_freetuptable(SPI_tuptable);
	return count;
}

TimestampTz
expect_first_due(Definition *definition, Ring *ring, const Arguments &arguments, Numbers *numbers)
{
	const RingClaim *claim = ring_claim_of(definition);
	auto *jobs = static_cast<DueJob *>(palloc(sizeof(DueJob) * due_read_size));
	int count = 0;
	// The newest rows, but by the time of the call: what has become due since the sweep read is to come.
	Arguments newest = arguments;
	statement::with_newest(&newest, [&](Snapshot snapshot) {
		if (claim->key.is_sorted)
			show_to_hook(definition, snapshot, arguments);
		count = claim->key.is_sorted
					? read_first_due(claim, snapshot, arguments.call_time(), jobs, due_read_size,
									 numbers)
					: read_first_due_by_statement(definition, snapshot, arguments, jobs);
	});
	const TimestampTz next = expect_first(ring, claim, jobs, count);
	pfree(jobs);
	return next;
}

} // namespace queue_ext::claim
