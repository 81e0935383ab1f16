// row_insert.cpp - see row_insert.hpp.

#include "../postgres.hpp"

#include "row_insert.hpp"

#include "../array.hpp"
#include "../statement/row_type.hpp"
#include "locks.hpp"

namespace queue_ext::unique {

using statement::Arguments;
using statement::Parameter;
using statement::Statement;

namespace {

// One row of the call.
struct UniqueRow
{
	Datum row;
	bool *is_null;     // of all columns of the table
	Datum *values;     // of the columns of the rule
	bool *value_nulls; // of the columns of the rule
	Lock lock;
	int place;
	UniqueRow *first; // the first equal row; the row itself if none precedes it
};

} // namespace

// check_readable() must have accepted the row: it is deformed by the columns that the table has
// now.
static void
read_row(const RowRule *rule, TupleDesc shape, UniqueRow *row)
{
	HeapTupleData tuple = statement::tuple_of(row->row);
	auto *values = allocate<Datum>(shape->natts);
	row->is_null = allocate<bool>(shape->natts);
	heap_deform_tuple(&tuple, shape, values, row->is_null);
	row->values = allocate<Datum>(rule->column_count);
	row->value_nulls = allocate<bool>(rule->column_count);
	for (int i = 0; i < rule->column_count; i++) {
		row->values[i] = values[rule->columns[i].number - 1];
		row->value_nulls[i] = row->is_null[rule->columns[i].number - 1];
	}
	pfree(values);
}

// Rows that are equal under the rule have the same string, in every session (value_text.hpp).
static const char *
lock_string(const RowRule *rule, const UniqueRow *row)
{
	StringInfoData text;
	initStringInfo(&text);
	appendStringInfo(&text, "unique_key|%s|by=%s|values=[", rule->lock_space, rule->by);
	for (int i = 0; i < rule->column_count; i++) {
		if (i > 0)
			appendStringInfoString(&text, ", ");
		if (row->value_nulls[i])
			appendStringInfoString(&text, "null");
		else
			append_value_text(&text, rule->columns[i], row->values[i]);
	}
	appendStringInfoChar(&text, ']');
	return text.data;
}

static UniqueRow *
read_rows(const RowRule *rule, const NewRows &given)
{
	auto *rows = allocate<UniqueRow>(given.count);
	// The open relation keeps user-defined code from altering the table (55006).
	Relation table = table_open(rule->table, NoLock);
	statement::check_readable(given.columns);
	for (int i = 0; i < given.count; i++) {
		CHECK_FOR_INTERRUPTS();
		rows[i].row = given.rows[i];
		rows[i].place = i;
		read_row(rule, RelationGetDescr(table), &rows[i]);
		rows[i].lock = lock_named(lock_string(rule, &rows[i]));
	}
	table_close(table, NoLock);
	return rows;
}

// Nulls are equal, as in find_statement().
static bool
are_rows_equal(const RowRule *rule, const UniqueRow *left, const UniqueRow *right)
{
	for (int i = 0; i < rule->column_count; i++) {
		if (left->value_nulls[i] != right->value_nulls[i])
			return false;
		if (!left->value_nulls[i] &&
			!are_equal(rule->columns[i], left->values[i], right->values[i]))
			return false;
	}
	return true;
}

// Puts rows with the same lock side by side, in the order of the call.
static int
compare_rows(const void *left, const void *right)
{
	const UniqueRow *a = *static_cast<UniqueRow *const *>(left);
	const UniqueRow *b = *static_cast<UniqueRow *const *>(right);
	if (a->lock.key != b->lock.key)
		return a->lock.key < b->lock.key ? -1 : 1;
	return a->place - b->place;
}

// Sets first of all rows. Equal rows have the same lock, so only rows with the same lock are
// compared.
static void
find_equal(const RowRule *rule, UniqueRow *rows, int count)
{
	auto **sorted = allocate<UniqueRow *>(count);
	for (int i = 0; i < count; i++)
		sorted[i] = &rows[i];
	// NOLINTNEXTLINE(bugprone-sizeof-expression): the items are pointers
	qsort(sorted, count, sizeof(UniqueRow *), compare_rows);
	int start = 0;
	for (int i = 0; i < count; i++) {
		CHECK_FOR_INTERRUPTS();
		if (sorted[i]->lock.key != sorted[start]->lock.key)
			start = i;
		sorted[i]->first = sorted[i];
		for (int j = start; j < i && sorted[i]->first == sorted[i]; j++)
			if (sorted[j]->first == sorted[j] && are_rows_equal(rule, sorted[j], sorted[i]))
				sorted[i]->first = sorted[j];
	}
	pfree(sorted);
}

// Takes all locks by one take_locks(), whose order keeps calls from deadlocking.
static void
take_all_locks(const RowRule *rule, const UniqueRow *rows, int count)
{
	auto *locks = allocate<Lock>(count);
	int length = 0;
	for (int i = 0; i < count; i++)
		if (rows[i].first == &rows[i])
			locks[length++] = rows[i].lock;
	take_locks(rule->lock_space, locks, length);
	pfree(locks);
}

// Runs the statement with the row, made with these columns, as its parameter; true if it returned a
// row.
static bool
run_on(const Statement &statement, const UniqueRow *row, TupleDesc columns, RowOutcome *outcome)
{
	Arguments arguments(GetCurrentTimestamp());
	arguments.set_row(row->row, columns);
	statement::run_newest(statement, arguments);
	if (SPI_tuptable->numvals > 0) {
		bool is_null;
		const Datum value =
			SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
		outcome->row = datumCopy(value, false, -1);
		outcome->has_row = true;
	}
	SPI_freetuptable(SPI_tuptable);
	return outcome->has_row;
}

// The row's lock is held, so no other call inserts an equal row between the two statements.
static void
find_or_insert(RowRule *rule, const UniqueRow *row, TupleDesc columns, RowOutcome *outcome)
{
	if (!run_on(find_statement(rule, row->value_nulls), row, columns, outcome))
		outcome->is_inserted = run_on(insert_statement(rule, row->is_null), row, columns, outcome);
}

// Takes all locks before the first look.
void
insert_unique_rows(RowRule *rule, const NewRows &given, RowOutcome *outcomes)
{
	UniqueRow *rows = read_rows(rule, given);
	const int count = given.count;
	find_equal(rule, rows, count);
	take_all_locks(rule, rows, count);
	for (int i = 0; i < count; i++) {
		CHECK_FOR_INTERRUPTS();
		if (rows[i].first == &rows[i]) {
			find_or_insert(rule, &rows[i], given.columns, &outcomes[i]);
			continue;
		}
		outcomes[i] = outcomes[rows[i].first->place];
		outcomes[i].is_inserted = false;
	}
}

} // namespace queue_ext::unique
