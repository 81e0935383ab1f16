// keyed.cpp - see keyed.hpp.
//
// Rows are read with SnapshotSelf: it does not depend on the transaction's snapshot, takes no
// predicate locks (so a refusal cannot fail in SERIALIZABLE) and costs nothing to make. An index
// scan under it can miss a row that gets a new version in another page meanwhile, so a caller that
// finds no row has to make sure by a statement or an insert.

#include "../postgres.hpp"

#include "keyed.hpp"

#include "../catalog/any_right.hpp"
#include "../catalog/kept.hpp"
#include "../catalog/lock_found.hpp"
#include "../catalog/named_dependency.hpp"
#include "../compat.hpp"
#include "rights.hpp"
#include "write.hpp"

namespace queue_ext::row {

using statement::Statement;

// False after an invalidation message about the table or its schema.
static bool
is_known(const KeyedTable *table)
{
	return table->shape != nullptr && table->shape->dependent.is_valid;
}

// Frees neither the plans nor the context at once; both are kept until the transaction ends.
static void
forget(KeyedTable *table)
{
	for (Statement &statement : table->prepared)
		statement::discard_later(&statement);
	// A call further up the stack may be evaluating the shape's expressions.
	if (table->shape != nullptr)
		MemoryContextSetParent(table->shape->dependent.context, TopTransactionContext);
	table->shape = nullptr;
}

// The key column must have the C collation, since ScanKeyInit() in find() uses that.
static void
read_shape(KeyedShape *shape, Relation relation)
{
	catalog::depend_on_table(&shape->dependent, shape->oid);
	list_free(RelationGetIndexList(relation)); // sets rd_pkindex
	shape->index = relation->rd_pkindex;
	catalog::depend_on_checks(&shape->dependent, relation);
	const TupleDesc descriptor = RelationGetDescr(relation);
	shape->is_plain = is_plain(relation) && !has_update_triggers(relation) &&
					  OidIsValid(shape->index) &&
					  TupleDescAttr(descriptor, 0)->attcollation == C_COLLATION_OID &&
					  prepare_checks(relation, &shape->checks, shape->dependent.context);
	MemoryContext old = MemoryContextSwitchTo(shape->dependent.context);
	shape->evaluation = CreateStandaloneExprContext();
	MemoryContextSwitchTo(old);
}

// Reads the shape, which open() and update_row() need. The table must be locked. Raises 55000 where its
// columns are not as expected.
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

// The rights are checked before the lock is taken, and again if the wait for it accepted messages.
Opened
open(KeyedTable *table, AclMode rights)
{
	const Oid oid = catalog::lock_found([&]() -> catalog::Wanted {
		// After an invalidation the name may mean another table.
		const Oid found = is_known(table) ? table->shape->oid : catalog::own_relation(table->name);
		catalog::check_any_right(found, ACL_INSERT | ACL_UPDATE | ACL_DELETE, [&] {
			return list_make1(missing_rights::need_of(found, rights));
		});
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

// The uses of a shape are a stack: Opened values are closed in reverse order.
void
close(const Opened &opened, bool has_written)
{
	if (opened.is_direct)
		end_use(&opened.of->use);
	table_close(opened.relation, has_written ? NoLock : RowExclusiveLock);
}

// Returns a copy, since systable_endscan() releases the buffer pin.
HeapTuple
find(const Opened &opened, const text *key)
{
	// Makes visible what this command has written so far, so that it can be updated again.
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

// As heap_getattr() has it, for a copy from find().
Datum
value_of(const Opened &opened, HeapTuple row, int column, bool *is_null)
{
	return heap_getattr(row, column, RelationGetDescr(opened.relation), is_null);
}

// Raises XX000 on a null, which the caller could not handle.
Datum
value_of(const Opened &opened, HeapTuple row, int column)
{
	bool is_null;
	const Datum value = value_of(opened, row, column, &is_null);
	if (is_null) // the owner of the table has dropped its NOT NULL
		elog(ERROR, "null in column %d of \"%s\"", column, opened.of->name);
	return value;
}

// Only the changed columns can have become null.
static bool
has_forbidden_null(TupleDesc descriptor, const Changes *changes)
{
	for (int i = 0; i < changes->count; i++)
		if (changes->nulls[i] && TupleDescAttr(descriptor, changes->columns[i] - 1)->attnotnull)
			return true;
	return false;
}

// The fast check is without an executor state. Where it fails, the executor raises the error with
// its own wording (23502, 23514).
static void
check_constraints(const Opened &opened, TupleTableSlot *slot, const Changes *changes)
{
	ExprContext *evaluation = opened.shape->evaluation;
	ResetExprContext(evaluation);
	if (!has_forbidden_null(RelationGetDescr(opened.relation), changes) &&
		satisfies(opened.shape->checks, slot, evaluation))
		return;
	check_constraints(opened.relation, slot);
}

// The changed columns, offset as in pull_varattnos().
static Bitmapset *
columns_of(const Changes *changes)
{
	Bitmapset *columns = nullptr;
	for (int i = 0; i < changes->count; i++)
		columns = bms_add_member(columns, changes->columns[i] - FirstLowInvalidHeapAttributeNumber);
	return columns;
}

// CheckCmdReplicaIdentity() raises 55000 where the executor would, for a published table.
Written
update_row(const Opened &opened, HeapTuple row, Changes *changes)
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
		insert_index_entries(opened.relation, slot, updated);
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

// Locks in the mode that update_row() needs, so that a write after it does not wait.
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

// Prepared when first needed, from the text with the table's qualified name.
static const Statement &
prepared_of(KeyedTable *table, int number, const Opened &opened)
{
	Statement *statement = &table->prepared[number];
	if (!statement->is_prepared()) {
		const char *name =
			quote_qualified_identifier(get_namespace_name(RelationGetNamespace(opened.relation)),
									   RelationGetRelationName(opened.relation));
		statement::prepare(statement, psprintf(table->statements[number], name), table->parameters,
						   table->parameter_count, statement::Access::by_key, {}, {});
	}
	return *statement;
}

// Returns a copy of the Statement: user-defined code may make open() forget the prepared ones,
// whose plans live until the end of the transaction.
uint64
run(KeyedTable *table, int statement, const Datum *values, const char *nulls)
{
	// Locks the table and accepts invalidation messages; the lock is kept.
	const Opened opened = open(table, table->rights[statement]);
	const Statement prepared = prepared_of(table, statement, opened);
	close(opened, true);
	return statement::run(prepared, values, nulls);
}

} // namespace queue_ext::row
