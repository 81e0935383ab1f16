// unique_insert_row.cpp - queue_unique_insert_row, queue_unique_insert_rows: add rows that do not
// exist yet to any table.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../array.hpp"
#include "../catalog/any_right.hpp"
#include "../claim/given_back.hpp"
#include "../definition/open.hpp"
#include "../error.hpp"
#include "../result.hpp"
#include "../statement/row_type.hpp"
#include "../stats/transaction_counters.hpp"
#include "../unique/row_insert.hpp"
#include "../unique/rule_cache.hpp"

namespace queue_ext::queue {

using unique::NewRows;
using unique::RowOutcome;
using unique::RowQueue;
using unique::RowRule;

QUEUE_EXT_FUNCTION(queue_ext_queue_unique_insert_row);
QUEUE_EXT_FUNCTION(queue_ext_queue_unique_insert_rows);

// Raises 42P01 or 42809 if no rows can be inserted into the relation, 42501 if the caller has no
// INSERT privilege on it or on a column.
static void
check_table(Oid table)
{
	const char kind = get_rel_relkind(table);
	if (kind == '\0')
		error::no_such_table(table);
	if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
		error::cannot_insert_into(get_rel_name(table), kind);
	catalog::check_any_right(table, ACL_INSERT, [&] {
		return list_make1(missing_rights::need_of(table, ACL_SELECT | ACL_INSERT));
	});
}

namespace {

// A table, and the tuple descriptor that rows of it were made with.
struct RowTable
{
	Oid table;
	TupleDesc columns;
};

} // namespace

// Locks the table as INSERT does, and before it its root, whose name is in the names of the locks
// on unique keys: a rename must wait for the end of the transaction.
static void
lock_with_root(Oid table)
{
	Oid root;
	do {
		CHECK_FOR_INTERRUPTS();
		root = unique::root_of(table);
		if (root != table)
			LockRelationOid(root, AccessShareLock);
		LockRelationOid(table, RowExclusiveLock);
	} while (unique::root_of(table) != root);
}

// Locks the table with that row type as INSERT does (ROW EXCLUSIVE), after check_table(). Raises
// 42804 if the type is not the row type of a table, or if rows made before the wait for the lock
// cannot be read any more. "what" names the argument.
static RowTable
lock_table(const char *what, Oid type)
{
	const Oid table = OidIsValid(type) ? get_typ_typrelid(type) : InvalidOid;
	if (!OidIsValid(table) || get_rel_relkind(table) == RELKIND_COMPOSITE_TYPE)
		error::not_a_table_row(what, type);
	check_table(table);
	const TupleDesc columns = statement::lock_for_rows(type, [&] {
		lock_with_root(table);
		check_table(table); // again: waiting for the lock may have let in a change
	});
	return {table, columns};
}

// Returns the rule of arguments 1 and 2: unique_by, among.
static RowRule *
rule_of_arguments(FunctionCallInfo fcinfo, Oid table)
{
	unique::RowChoice choice{};
	choice.table = table;
	choice.unique_by = argument::required_array(fcinfo, 1, "unique_by");
	choice.among = PG_ARGISNULL(2) ? nullptr : text_to_cstring(PG_GETARG_TEXT_PP(2));
	return rule_for(choice);
}

namespace {

// What has come of the rows of a call.
struct RowCounts
{
	int64 counted; // as sent to the managed queue, before the call
	int64 inserted;
	int64 duplicates;
};

} // namespace

// Calls visit() for each queue of the rule's table. Like INSERT it needs no privilege on the queues,
// so they are not looked up by a written name. Skips queues that have been dropped meanwhile.
template <typename Visit>
static void
visit_queues(const RowRule *rule, Visit &&visit)
{
	ListCell *cell;
	foreach (cell, rule->queues) {
		const auto *queue = static_cast<const RowQueue *>(lfirst(cell));
		definition::Definition *definition =
			definition::open_queue_of_name(queue->source, queue->name, definition::Use::name);
		if (definition != nullptr)
			visit(definition);
	}
}

// Counts the rows for each queue, and makes new ones known to claims after the commit.
static void
settle_queues(const RowRule *rule, const RowCounts &counts)
{
	visit_queues(rule, [&](definition::Definition *definition) {
		claim::count_sent(definition,
						  definition->is_managed ? counts.counted
												 : stats::counted(definition, stats::Counter::sent),
						  counts.inserted);
		stats::count(definition, stats::Counter::duplicates, counts.duplicates);
		if (counts.inserted > 0)
			claim::note_given_back(definition, 0);
	});
}

// Inserts the rows and calls put(outcome) for each, with SPI open. Keeps the rule in use until its
// queues are woken.
template <typename Put>
static void
insert_all(FunctionCallInfo fcinfo, Oid table, const NewRows &rows, Put &&put)
{
	RowRule *rule = rule_of_arguments(fcinfo, table);
	RowCounts counts{stats::counted_by_trigger(table), 0, 0};
	pin_rule(rule);
	statement::with_spi([&] {
		auto *outcomes = allocate<RowOutcome>(rows.count);
		insert_unique_rows(rule, rows, outcomes);
		for (int i = 0; i < rows.count; i++) {
			counts.inserted += outcomes[i].is_inserted;
			counts.duplicates += outcomes[i].has_row && !outcomes[i].is_inserted;
			put(outcomes[i]);
		}
	});
	if (counts.inserted > 0 || counts.duplicates > 0)
		settle_queues(rule, counts);
	unpin_rule(rule);
}

Datum
queue_ext_queue_unique_insert_row(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_unique_insert_row()");
	TupleDesc descriptor = result::row_type(fcinfo);
	argument::check_not_null(fcinfo, 0, "job");
	const RowTable of = lock_table("job", get_fn_expr_argtype(fcinfo->flinfo, 0));
	const Datum row = PG_GETARG_DATUM(0);
	Datum values[2];
	bool nulls[2];
	insert_all(fcinfo, of.table, {of.columns, &row, 1}, [&](const RowOutcome &outcome) {
		values[0] = BoolGetDatum(outcome.is_inserted);
		nulls[0] = false;
		values[1] =
			outcome.has_row ? SPI_datumTransfer(outcome.row, false, -1) : static_cast<Datum>(0);
		nulls[1] = !outcome.has_row;
	});
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls)));
}

Datum
queue_ext_queue_unique_insert_rows(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_unique_insert_rows()");
	const ReturnSetInfo *result = result::begin_set(fcinfo);
	ArrayType *array = argument::required_array(fcinfo, 0, "jobs");
	if (array_contains_nulls(array))
		error::null_element("jobs");
	const Oid type = ARR_ELEMTYPE(array);
	const RowTable of = lock_table("jobs", type);
	Datum *rows;
	int count;
	deconstruct_array(array, type, -1, false, TYPALIGN_DOUBLE, &rows, nullptr, &count);
	insert_all(fcinfo, of.table, {of.columns, rows, count}, [&](const RowOutcome &outcome) {
		Datum values[] = {BoolGetDatum(outcome.is_inserted), outcome.row};
		bool nulls[] = {false, !outcome.has_row};
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	});
	return static_cast<Datum>(0);
}

} // namespace queue_ext::queue
