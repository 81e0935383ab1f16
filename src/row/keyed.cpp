// keyed.cpp - see keyed.hpp.
//
// Rows are read with SnapshotSelf, which follows no snapshot of the transaction's,
// takes no predicate locks (so that SERIALIZABLE has nothing to fail for) and costs
// nothing to make. Where a row gets a new version in another page while the index is
// read, it may be missed: whoever finds nothing has to make sure.

#include "../postgres.hpp"

#include "keyed.hpp"

#include "../catalog/kept.hpp"
#include "../catalog/lock_found.hpp"
#include "../catalog/named_dependency.hpp"
#include "../catalog/rights.hpp"
#include "../compat.hpp"
#include "rights.hpp"
#include "write.hpp"

namespace queue_ext::row {

using statement::Statement;

static bool
is_known(const KeyedTable *table)
{
	return table->shape != nullptr && table->shape->dependent.is_valid;
}

static void
forget(KeyedTable *table)
{
	for (Statement &statement : table->prepared)
		statement::discard_later(&statement);
	// A call that this one is within may be evaluating what is there.
	if (table->shape != nullptr)
		MemoryContextSetParent(table->shape->dependent.context, TopTransactionContext);
	table->shape = nullptr;
}

static void
read_shape(KeyedShape *shape, Relation relation)
{
	catalog::depend_on_table(&shape->dependent, shape->oid);
	list_free(RelationGetIndexList(relation)); // sets rd_pkindex
	shape->index = relation->rd_pkindex;
	const TupleDesc descriptor = RelationGetDescr(relation);
	shape->is_plain = is_plain(relation) && !has_update_triggers(relation) &&
					  OidIsValid(shape->index) &&
					  TupleDescAttr(descriptor, 0)->attcollation == C_COLLATION_OID &&
					  prepare_checks(descriptor, &shape->checks, shape->dependent.context);
	MemoryContext old = MemoryContextSwitchTo(shape->dependent.context);
	shape->evaluation = CreateStandaloneExprContext();
	MemoryContextSwitchTo(old);
}

// Finds out all that open() and write() want to know; the table must be locked.
static void
learn(KeyedTable *table, Relation relation)
{
	catalog::check_columns(relation, table->columns, table->column_count);
	forget(table);
	catalog::make_kept("queue_ext table", CacheMemoryContext, [&](MemoryContext context) {
		auto *shape =
			static_cast<KeyedShape *>(MemoryContextAllocZero(context, sizeof(KeyedShape)));
		shape->oid = RelationGetRelid(relation);
		catalog::begin_dependent(&shape->dependent, context);
		catalog::make_dependent(&shape->dependent, [&] { read_shape(shape, relation); });
		table->shape = shape;
	});
}

Opened
open(KeyedTable *table)
{
	const Oid oid = catalog::lock_found([&]() -> catalog::Wanted {
		// What is not known any more may be another table of that name.
		const Oid found = is_known(table) ? table->shape->oid : catalog::own_relation(table->name);
		catalog::check_any_right(found, ACL_INSERT | ACL_UPDATE | ACL_DELETE);
		return {found, RowExclusiveLock};
	});
	Relation relation = table_open(oid, NoLock);
	if (!is_known(table) || table->shape->oid != oid)
		learn(table, relation);
	const KeyedShape *shape = table->shape;
	const bool is_direct =
		shape->is_plain && !is_in_use(&table->use) && has_rights(oid, ACL_SELECT | ACL_UPDATE);
	if (is_direct)
		begin_use(&table->use);
	return {table, shape, relation, is_direct};
}

void
close(const Opened &opened, bool has_written)
{
	if (opened.is_direct)
		end_use(&opened.of->use);
	table_close(opened.relation, has_written ? NoLock : RowExclusiveLock);
}

HeapTuple
find(const Opened &opened, const text *key)
{
	// What this command has written so far is to be seen, and may be written over.
	CommandCounterIncrement();
	ScanKeyData scan_key;
	ScanKeyInit(&scan_key, 1, BTEqualStrategyNumber, F_TEXTEQ, PointerGetDatum(key));
	SysScanDesc scan =
		systable_beginscan(opened.relation, opened.shape->index, true, SnapshotSelf, 1, &scan_key);
	HeapTuple found = systable_getnext(scan);
	HeapTuple row = HeapTupleIsValid(found) ? heap_copytuple(found) : nullptr;
	systable_endscan(scan);
	return row;
}

Datum
value_of(const Opened &opened, HeapTuple row, int column, bool *is_null)
{
	return heap_getattr(row, column, RelationGetDescr(opened.relation), is_null);
}

Datum
value_of(const Opened &opened, HeapTuple row, int column)
{
	bool is_null;
	const Datum value = value_of(opened, row, column, &is_null);
	if (is_null) // the table's owner has dropped its constraint
		elog(ERROR, "null in column %d of \"%s\"", column, opened.of->name);
	return value;
}

static bool
has_forbidden_null(TupleDesc descriptor, const Changes *changes)
{
	for (int i = 0; i < changes->count; i++)
		if (changes->nulls[i] && TupleDescAttr(descriptor, changes->columns[i] - 1)->attnotnull)
			return true;
	return false;
}

// Raises what the executor does where a constraint does not hold.
static void
check_constraints(const Opened &opened, TupleTableSlot *slot, const Changes *changes)
{
	ExprContext *evaluation = opened.shape->evaluation;
	ResetExprContext(evaluation);
	if (!has_forbidden_null(RelationGetDescr(opened.relation), changes) &&
		satisfies(opened.shape->checks, slot, evaluation))
		return;
	Target target = open_target(opened.relation);
	ExecConstraints(target.relation, slot, target.estate);
	close_target(&target);
}

static void
insert_index_entries(const Opened &opened, TupleTableSlot *slot, compat::UpdatedIndexes updated)
{
	if (!compat::any_index(updated))
		return;
	Target target = open_target(opened.relation);
	insert_index_entries(&target, slot, updated);
	close_target(&target);
}

// As pull_varattnos() counts them.
static Bitmapset *
columns_of(const Changes *changes)
{
	Bitmapset *columns = nullptr;
	for (int i = 0; i < changes->count; i++)
		columns = bms_add_member(columns, changes->columns[i] - FirstLowInvalidHeapAttributeNumber);
	return columns;
}

Written
write(const Opened &opened, HeapTuple row, Changes *changes)
{
	const TupleDesc descriptor = RelationGetDescr(opened.relation);
	CheckCmdReplicaIdentity(opened.relation, CMD_UPDATE);
	HeapTuple changed = heap_modify_tuple_by_cols(row, descriptor, changes->count, changes->columns,
												  changes->values, changes->nulls);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(descriptor, &TTSOpsHeapTuple);
	TupleTableSlot *scratch = table_slot_create(opened.relation, nullptr);
	ExecStoreHeapTuple(changed, slot, false);
	slot->tts_tableOid = RelationGetRelid(opened.relation);
	check_constraints(opened, slot, changes);

	compat::UpdatedIndexes updated;
	Bitmapset *written = columns_of(changes);
	const TM_Result result =
		update_at_once(opened.relation, &row->t_self, written, scratch, slot, &updated);
	bms_free(written);
	if (result == TM_Ok)
		insert_index_entries(opened, slot, updated);
	ExecDropSingleTupleTableSlot(scratch);
	ExecDropSingleTupleTableSlot(slot);
	heap_freetuple(changed);
	switch (result) {
		case TM_Ok:
			CommandCounterIncrement();
			return Written::done;
		case TM_WouldBlock:
			return Written::busy;
		case TM_Updated:
		case TM_Deleted:
			return Written::changed;
		default:
			elog(ERROR, "could not write row of \"%s\": result %d", opened.of->name, result);
	}
}

void
await(const Opened &opened, HeapTuple row, const Changes *changes)
{
	TM_FailureData failure;
	Bitmapset *written = columns_of(changes);
	TupleTableSlot *slot = table_slot_create(opened.relation, nullptr);
	table_tuple_lock(opened.relation, &row->t_self, SnapshotSelf, slot, GetCurrentCommandId(true),
					 lock_mode_for(opened.relation, written), LockWaitBlock, 0, &failure);
	bms_free(written);
	ExecDropSingleTupleTableSlot(slot);
}

static const Statement &
prepared_of(KeyedTable *table, int number, const Opened &opened)
{
	Statement *statement = &table->prepared[number];
	if (!statement->is_prepared()) {
		const char *name =
			quote_qualified_identifier(get_namespace_name(RelationGetNamespace(opened.relation)),
									   RelationGetRelationName(opened.relation));
		statement::prepare(statement, psprintf(table->statements[number], name), table->parameters,
						   table->parameter_count, statement::Access::by_key, {});
	}
	return *statement;
}

uint64
run(KeyedTable *table, int statement, const Datum *values, const char *nulls)
{
	// Locks the table, and takes notice of what has changed.
	const Opened opened = open(table);
	const Statement prepared = prepared_of(table, statement, opened);
	close(opened, true);
	return statement::run(prepared, values, nulls);
}

} // namespace queue_ext::row
