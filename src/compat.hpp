// compat.hpp - the one place that asks which PostgreSQL this is.
//
// Each entry has the newest server's name and signature, and says since when it
// is so. None of them raises or locks beyond what the wrapped call does.

#pragma once

#include "postgres.hpp"

#if PG_VERSION_NUM >= 170000
extern "C" {
#include "storage/dsm_registry.h"
}
#endif

namespace queue_ext::compat {

// 16 replaced the per-catalog ownership checks by object_ownercheck().
inline bool
owns_relation(Oid relation, Oid role)
{
#if PG_VERSION_NUM >= 160000
	return object_ownercheck(RelationRelationId, relation, role);
#else
	return pg_class_ownercheck(relation, role);
#endif
}

// Likewise the checks of a schema's privileges, by object_aclcheck().
inline AclResult
check_schema(Oid schema, Oid role, AclMode right)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(NamespaceRelationId, schema, role, right);
#else
	return pg_namespace_aclcheck(schema, role, right);
#endif
}

inline AclResult
check_function(Oid function, Oid role)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(ProcedureRelationId, function, role, ACL_EXECUTE);
#else
	return pg_proc_aclcheck(function, role, ACL_EXECUTE);
#endif
}

// Makes the plan's search path the current one, without parsing it anew. 17 renamed
// OverrideSearchPath to SearchPathMatcher.
inline void
set_search_path_current(CachedPlanSource *source)
{
#if PG_VERSION_NUM >= 170000
	if (SearchPathMatchesCurrentEnvironment(source->search_path))
		return;
	auto *current = GetSearchPathMatcher(source->query_context);
#else
	if (OverrideSearchPathMatchesCurrent(source->search_path))
		return;
	auto *current = GetOverrideSearchPath(source->query_context);
#endif
	list_free(source->search_path->schemas);
	pfree(source->search_path);
	source->search_path = current;
}

// 18 put RETURNING's list into a clause of its own.
inline bool
has_returning(const UpdateStmt *update)
{
#if PG_VERSION_NUM >= 180000
	return update->returningClause != nullptr;
#else
	return update->returningList != NIL;
#endif
}

// 18 has generated columns that are not stored.
inline bool
has_generated(const TupleConstr *constraints)
{
#if PG_VERSION_NUM >= 180000
	return constraints->has_generated_stored || constraints->has_generated_virtual;
#else
	return constraints->has_generated_stored;
#endif
}

// 18 lets NOT NULL be not yet validated.
inline bool
is_not_null(TupleDesc descriptor, int index)
{
#if PG_VERSION_NUM >= 180000
	return TupleDescCompactAttr(descriptor, index)->attnullability == ATTNULLABLE_VALID;
#else
	return TupleDescAttr(descriptor, index)->attnotnull;
#endif
}

// 18 keeps a copy of what is asked for most. The column gets a length that no other has,
// so that no row is taken to have the right shape already and passed on with its value.
inline void
mark_dropped(TupleDesc descriptor, int index)
{
	TupleDescAttr(descriptor, index)->attisdropped = true;
	TupleDescAttr(descriptor, index)->attlen = 0;
#if PG_VERSION_NUM >= 180000
	populate_compact_attribute(descriptor, index);
#endif
}

// Whether making an index enters into pg_class.reltuples how many rows the table has. 18
// leaves that alone where autovacuum is off for the table.
inline bool
do_indexes_count(HeapTuple table)
{
#if PG_VERSION_NUM >= 180000
	constexpr const char *option = "autovacuum_enabled=";
	bool is_null;
	const Datum options = SysCacheGetAttr(RELOID, table, Anum_pg_class_reloptions, &is_null);
	Datum *texts = nullptr;
	int count = 0;
	if (!is_null)
		deconstruct_array_builtin(DatumGetArrayTypeP(options), TEXTOID, &texts, nullptr, &count);
	for (int i = 0; i < count; i++)
		if (strncmp(TextDatumGetCString(texts[i]), option, strlen(option)) == 0)
			return false;
	return AutoVacuumingActive();
#else
	(void) table;
	return true;
#endif
}

// 17 gave intervals infinities.
inline bool
interval_is_finite(const Interval *interval)
{
#if PG_VERSION_NUM >= 170000
	return !INTERVAL_NOT_FINITE(interval);
#else
	(void) interval;
	return true;
#endif
}

// 17 lets LockHeldByMe() count stronger locks as well.
inline bool
holds_lock(const LOCKTAG *tag, LOCKMODE mode)
{
#if PG_VERSION_NUM >= 170000
	return LockHeldByMe(tag, mode, false);
#else
	return LockHeldByMe(tag, mode);
#endif
}

// 19 gave the syscache identifiers, which syscache callbacks are called with, a type.
#if PG_VERSION_NUM >= 190000
using SysCacheId = SysCacheIdentifier;
#else
using SysCacheId = int;
#endif

// 16 gave the walker's callback its real type; in 15 it is declared "bool (*) ()",
// which C++ reads as "no arguments".
inline bool
walk_raw_tree(Node *node, bool (*walker)(Node *, void *), void *context)
{
#if PG_VERSION_NUM >= 160000
	return raw_expression_tree_walker(node, walker, context);
#else
	// By way of void (*) (), which g++ takes for "any function".
	auto *any = reinterpret_cast<void (*)()>(walker);
	return raw_expression_tree_walker(node, reinterpret_cast<bool (*)()>(any), context);
#endif
}

// The same for trees after analysis.
inline bool
walk_tree(Node *node, bool (*walker)(Node *, void *), void *context)
{
#if PG_VERSION_NUM >= 160000
	return expression_tree_walker(node, walker, context);
#else
	auto *any = reinterpret_cast<void (*)()>(walker);
	return expression_tree_walker(node, reinterpret_cast<bool (*)()>(any), context);
#endif
}

// The same for what is below a query, its orders and groups too.
inline bool
walk_query(Query *query, bool (*walker)(Node *, void *), void *context)
{
#if PG_VERSION_NUM >= 160000
	return query_tree_walker(query, walker, context, QTW_EXAMINE_SORTGROUP);
#else
	auto *any = reinterpret_cast<void (*)()>(walker);
	return query_tree_walker(query, reinterpret_cast<bool (*)()>(any), context,
							 QTW_EXAMINE_SORTGROUP);
#endif
}

// 19 registers a tranche's name with its number, for every backend.
inline int
new_tranche(const char *name)
{
#if PG_VERSION_NUM >= 190000
	return LWLockNewTrancheId(name);
#else
	(void) name;
	return LWLockNewTrancheId();
#endif
}

inline void
register_tranche(int tranche, const char *name)
{
#if PG_VERSION_NUM < 190000
	LWLockRegisterTranche(tranche, name);
#else
	(void) tranche;
	(void) name;
#endif
}

// 17 has named segments of dynamic shared memory; 19 hands their callback an
// argument.
#if PG_VERSION_NUM >= 190000
inline void *
named_segment(const char *name, size_t size, void (*initialize)(void *), bool *is_found)
{
	auto call = [](void *memory, void *function) {
		reinterpret_cast<void (*)(void *)>(function)(memory);
	};
	return GetNamedDSMSegment(name, size, call, is_found, reinterpret_cast<void *>(initialize));
}
#elif PG_VERSION_NUM >= 170000
inline void *
named_segment(const char *name, size_t size, void (*initialize)(void *), bool *is_found)
{
	return GetNamedDSMSegment(name, size, initialize, is_found);
}
#endif

// 16 says of an update which indexes need new entries, not only whether any does.
#if PG_VERSION_NUM >= 160000
using UpdatedIndexes = TU_UpdateIndexes;
inline bool
any_index(UpdatedIndexes updated)
{
	return updated != TU_None;
}
#else
using UpdatedIndexes = bool;
inline bool
any_index(UpdatedIndexes updated)
{
	return updated;
}
#endif

// 19 puts options behind the command's number.
inline TM_Result
update_tuple(Relation table, ItemPointer place, TupleTableSlot *slot, CommandId command, bool wait,
			 TM_FailureData *failure, LockTupleMode *mode, UpdatedIndexes *updated)
{
#if PG_VERSION_NUM >= 190000
	return table_tuple_update(table, place, slot, command, 0, InvalidSnapshot, InvalidSnapshot,
							  wait, failure, mode, updated);
#else
	return table_tuple_update(table, place, slot, command, InvalidSnapshot, InvalidSnapshot, wait,
							  failure, mode, updated);
#endif
}

// 19 replaced changingPart by options.
inline TM_Result
delete_tuple(Relation table, ItemPointer place, CommandId command, Snapshot snapshot, bool wait,
			 TM_FailureData *failure)
{
#if PG_VERSION_NUM >= 190000
	return table_tuple_delete(table, place, command, 0, snapshot, InvalidSnapshot, wait, failure);
#else
	return table_tuple_delete(table, place, command, snapshot, InvalidSnapshot, wait, failure,
							  false);
#endif
}

// 18 lets the primary key be deferrable, if asked so.
inline Oid
primary_key_of(Relation table)
{
#if PG_VERSION_NUM >= 180000
	return RelationGetPrimaryKeyIndex(table, false);
#else
	return RelationGetPrimaryKeyIndex(table);
#endif
}

// 18 counts what a scan does, if asked to; 19 has flags.
inline IndexScanDesc
begin_index_scan(Relation table, Relation index, Snapshot snapshot, int key_count)
{
#if PG_VERSION_NUM >= 190000
	return index_beginscan(table, index, snapshot, nullptr, key_count, 0, 0);
#elif PG_VERSION_NUM >= 180000
	return index_beginscan(table, index, snapshot, nullptr, key_count, 0);
#else
	return index_beginscan(table, index, snapshot, key_count, 0);
#endif
}

// 19 may set bits of the visibility map on the way.
inline void
prune_page(Relation table, Buffer buffer)
{
#if PG_VERSION_NUM >= 190000
	Buffer map = InvalidBuffer;
	heap_page_prune_opt(table, buffer, &map, false);
	if (BufferIsValid(map))
		ReleaseBuffer(map);
#else
	heap_page_prune_opt(table, buffer);
#endif
}

// Index entries for a new row. As below.
inline void
insert_new_index_tuples(ResultRelInfo *relation, TupleTableSlot *slot, EState *estate)
{
#if PG_VERSION_NUM >= 190000
	ExecInsertIndexTuples(relation, estate, 0, slot, NIL, nullptr);
#elif PG_VERSION_NUM >= 160000
	ExecInsertIndexTuples(relation, slot, estate, false, false, nullptr, NIL, false);
#else
	ExecInsertIndexTuples(relation, slot, estate, false, false, nullptr, NIL);
#endif
}

// New index entries for an updated row. 16 told it which kind of update it was; 19
// made that flags and put the relation first.
inline void
insert_index_tuples(ResultRelInfo *relation, TupleTableSlot *slot, EState *estate,
					UpdatedIndexes updated)
{
#if PG_VERSION_NUM >= 190000
	uint32 flags = EIIT_IS_UPDATE;
	if (updated == TU_Summarizing)
		flags |= EIIT_ONLY_SUMMARIZING;
	ExecInsertIndexTuples(relation, estate, flags, slot, NIL, nullptr);
#elif PG_VERSION_NUM >= 160000
	ExecInsertIndexTuples(relation, slot, estate, true, false, nullptr, NIL,
						  updated == TU_Summarizing);
#else
	(void) updated;
	ExecInsertIndexTuples(relation, slot, estate, true, false, nullptr, NIL);
#endif
}

// The executor's state for writing one table. 16 keeps permissions apart from the
// range table; 18 wants to know which entries are not pruned.
inline void
init_range_table(EState *estate, RangeTblEntry *entry)
{
#if PG_VERSION_NUM >= 180000
	List *permissions = NIL;
	addRTEPermissionInfo(&permissions, entry);
	ExecInitRangeTable(estate, list_make1(entry), permissions, bms_make_singleton(1));
#elif PG_VERSION_NUM >= 160000
	List *permissions = NIL;
	addRTEPermissionInfo(&permissions, entry);
	ExecInitRangeTable(estate, list_make1(entry), permissions);
#else
	ExecInitRangeTable(estate, list_make1(entry));
#endif
}

// Names the columns that are given a value in that table.
inline void
set_inserted_columns(EState *estate, Bitmapset *columns)
{
	RangeTblEntry *entry = exec_rt_fetch(1, estate);
#if PG_VERSION_NUM >= 160000
	getRTEPermissionInfo(estate->es_rteperminfos, entry)->insertedCols = columns;
#else
	entry->insertedCols = columns;
#endif
}

// 19 replaced get_relation_info_hook by build_simple_rel_hook. Calls visit for every
// relation that the planner has looked up, after whoever was there before.
inline void (*visit_relation)(RelOptInfo *relation) = nullptr;

#if PG_VERSION_NUM >= 190000
inline build_simple_rel_hook_type previous_relation_hook = nullptr;

inline void
relation_hook(PlannerInfo *root, RelOptInfo *relation, RangeTblEntry *entry)
{
	if (previous_relation_hook != nullptr)
		previous_relation_hook(root, relation, entry);
	visit_relation(relation);
}

inline void
register_relation_hook(void (*visit)(RelOptInfo *relation))
{
	visit_relation = visit;
	previous_relation_hook = build_simple_rel_hook;
	build_simple_rel_hook = relation_hook;
}
#else
inline get_relation_info_hook_type previous_relation_hook = nullptr;

inline void
relation_hook(PlannerInfo *root, Oid table, bool is_parent, RelOptInfo *relation)
{
	if (previous_relation_hook != nullptr)
		previous_relation_hook(root, table, is_parent, relation);
	visit_relation(relation);
}

inline void
register_relation_hook(void (*visit)(RelOptInfo *relation))
{
	visit_relation = visit;
	previous_relation_hook = get_relation_info_hook;
	get_relation_info_hook = relation_hook;
}
#endif

} // namespace queue_ext::compat

#define QUEUE_EXT_HAS_NAMED_SEGMENTS (PG_VERSION_NUM >= 170000)

// 18 lets a module tell its name and version (pg_get_loaded_modules()).
#if PG_VERSION_NUM >= 180000
#define QUEUE_EXT_MODULE_MAGIC                                                                     \
	PG_MODULE_MAGIC_EXT(.name = "queue_ext", .version = QUEUE_EXT_VERSION)
#else
#define QUEUE_EXT_MODULE_MAGIC PG_MODULE_MAGIC
#endif
