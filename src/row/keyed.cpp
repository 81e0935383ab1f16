// keyed.cpp - see keyed.hpp.
//
// Rows are read with SnapshotSelf, which follows no snapshot of the transaction's,
// takes no predicate locks (so that SERIALIZABLE has nothing to fail for) and costs
// nothing to make. Where a row gets a new version in another page while the index is
// read, it may be missed: whoever finds nothing has to make sure.

#include "../postgres.hpp"

#include "keyed.hpp"

#include "../compat.hpp"
#include "../queue/kept.hpp"
#include "../queue/lock_found.hpp"
#include "../queue/rights.hpp"
#include "rights.hpp"
#include "write.hpp"

namespace queue_ext::row {

static KeyedTable *tables = nullptr;
static uint64 change_count = 0;

static void
on_relation_change(Datum, Oid relation)
{
	for (KeyedTable *table = tables; table != nullptr; table = table->next) {
		if (OidIsValid(relation) && table->oid != relation)
			continue;
		change_count++;
		table->oid = InvalidOid;
		table->is_known = false;
	}
}

// Of a schema, or of a function: a constraint may call it.
static void
on_catalog_change(Datum, compat::SysCacheId, uint32)
{
	on_relation_change(static_cast<Datum>(0), InvalidOid);
}

void
register_keyed_tables()
{
	CacheRegisterRelcacheCallback(on_relation_change, static_cast<Datum>(0));
	CacheRegisterSyscacheCallback(NAMESPACEOID, on_catalog_change, static_cast<Datum>(0));
	CacheRegisterSyscacheCallback(PROCOID, on_catalog_change, static_cast<Datum>(0));
}

static Oid
oid_of(KeyedTable *table)
{
	if (!OidIsValid(table->oid)) {
		const Oid oid = queue::own_relation(table->name);
		table->oid = oid;
	}
	return table->oid;
}

static void
add_to_tables(KeyedTable *table)
{
	for (const KeyedTable *known = tables; known != nullptr; known = known->next)
		if (known == table)
			return;
	table->next = tables;
	tables = table;
}

static void
forget(KeyedTable *table)
{
	for (queue::Statement &statement : table->prepared)
		queue::discard_later(&statement);
	// A call that this one is within may be evaluating what is there.
	if (table->context != nullptr)
		MemoryContextSetParent(table->context, TopTransactionContext);
	table->context = nullptr;
}

// Finds out all that open() and write() want to know; the table must be locked.
static void
learn(KeyedTable *table, Relation relation)
{
	const uint64 changes_before = change_count;
	forget(table);
	queue::check_columns(relation, table->columns, table->column_count);
	queue::make_kept("queue_ext table", CacheMemoryContext, [&](MemoryContext context) {
		list_free(RelationGetIndexList(relation)); // sets rd_pkindex
		table->index = relation->rd_pkindex;
		const TupleDesc descriptor = RelationGetDescr(relation);
		table->is_plain = is_plain(relation) && !has_update_triggers(relation) &&
						  OidIsValid(table->index) &&
						  TupleDescAttr(descriptor, 0)->attcollation == C_COLLATION_OID &&
						  prepare_checks(descriptor, &table->checks, context);
		MemoryContext old = MemoryContextSwitchTo(context);
		table->evaluation = CreateStandaloneExprContext();
		MemoryContextSwitchTo(old);
		table->context = context;
	});
	// The lock keeps away what would change any of it; what this transaction did
	// itself may be told of only now.
	table->is_known = changes_before == change_count;
}

Opened
open(KeyedTable *table)
{
	add_to_tables(table);
	const Oid oid = queue::lock_found([&]() -> queue::Wanted {
		const Oid found = oid_of(table);
		queue::check_any_right(found, ACL_INSERT | ACL_UPDATE | ACL_DELETE);
		return {found, RowExclusiveLock};
	});
	Relation relation = table_open(oid, NoLock);
	if (!table->is_known)
		learn(table, relation);
	table->oid = oid;
	const bool is_direct =
		table->is_plain && !is_in_use(&table->use) && has_rights(oid, ACL_SELECT | ACL_UPDATE);
	if (is_direct)
		begin_use(&table->use);
	return {table, relation, is_direct};
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
		systable_beginscan(opened.relation, opened.of->index, true, SnapshotSelf, 1, &scan_key);
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
	ExprContext *evaluation = opened.of->evaluation;
	ResetExprContext(evaluation);
	if (!has_forbidden_null(RelationGetDescr(opened.relation), changes) &&
		satisfies(opened.of->checks, slot, evaluation))
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

static const queue::Statement &
prepared_of(KeyedTable *table, int number, const Opened &opened)
{
	queue::Statement *statement = &table->prepared[number];
	if (!statement->is_prepared()) {
		const char *name =
			quote_qualified_identifier(get_namespace_name(RelationGetNamespace(opened.relation)),
									   RelationGetRelationName(opened.relation));
		queue::prepare(statement, psprintf(table->statements[number], name), table->parameters,
					   table->parameter_count, queue::Access::by_key);
	}
	return *statement;
}

uint64
run(KeyedTable *table, int statement, const Datum *values, const char *nulls)
{
	// Locks the table, and takes notice of what has changed.
	const Opened opened = open(table);
	const queue::Statement prepared = prepared_of(table, statement, opened);
	close(opened, true);
	return queue::run(prepared, values, nulls);
}

} // namespace queue_ext::row
