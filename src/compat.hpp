// compat.hpp - the only file that tests PG_VERSION_NUM for the sake of an API.
//
// Each entry has the newest server's name and signature; its comment names the major version that
// changed the API. An entry raises and locks as the wrapped function does, and no more.

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

// 16 replaced pg_namespace_aclcheck() and pg_proc_aclcheck() by object_aclcheck().
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

// Replaces the search path that the plan was parsed under by the current one, so that plancache.c
// does not parse the query again. 17 renamed OverrideSearchPath to SearchPathMatcher.
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

// 17 added the right to maintain a table.
#if PG_VERSION_NUM >= 170000
constexpr AclMode maintain_right = ACL_MAINTAIN;
#else
constexpr AclMode maintain_right = ACL_NO_RIGHTS;
#endif

// 18 moved the RETURNING list of UpdateStmt into a ReturningClause.
inline bool
has_returning(const UpdateStmt *update)
{
#if PG_VERSION_NUM >= 180000
	return update->returningClause != nullptr;
#else
	return update->returningList != NIL;
#endif
}

// 18 added virtual generated columns.
inline bool
has_generated(const TupleConstr *constraints)
{
#if PG_VERSION_NUM >= 180000
	return constraints->has_generated_stored || constraints->has_generated_virtual;
#else
	return constraints->has_generated_stored;
#endif
}

inline bool
has_virtual(const TupleConstr *constraints)
{
#if PG_VERSION_NUM >= 180000
	return constraints->has_generated_virtual;
#else
	(void) constraints;
	return false;
#endif
}

// True only for a validated NOT NULL constraint. 18 added NOT NULL constraints that are NOT VALID.
inline bool
is_not_null(TupleDesc descriptor, int index)
{
#if PG_VERSION_NUM >= 180000
	return TupleDescCompactAttr(descriptor, index)->attnullability == ATTNULLABLE_VALID;
#else
	return TupleDescAttr(descriptor, index)->attnotnull;
#endif
}

// To be called when all columns have been set. New in 19.
inline void
finish_descriptor(TupleDesc descriptor)
{
#if PG_VERSION_NUM >= 190000
	TupleDescFinalize(descriptor);
#else
	(void) descriptor;
#endif
}

// Marks the column dropped. No type has attlen 0, so check_attrmap_match() does not match it with a
// dropped column of the row: the row is converted, and the column becomes null. 18 added
// CompactAttribute, a copy of some fields that must be refreshed.
inline void
mark_dropped(TupleDesc descriptor, int index)
{
	TupleDescAttr(descriptor, index)->attisdropped = true;
	TupleDescAttr(descriptor, index)->attlen = 0;
#if PG_VERSION_NUM >= 180000
	populate_compact_attribute(descriptor, index);
#endif
}

// Whether an index build writes the row count of the table to pg_class.reltuples. 18 leaves it
// alone where autovacuum is off, for the server or the table. A table that sets autovacuum_enabled
// counts as off, whatever the value.
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

// 17 added infinite intervals.
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

// Whether this backend holds exactly this mode: 17 lets LockHeldByMe() also match stronger modes.
inline bool
holds_lock(const LOCKTAG *tag, LOCKMODE mode)
{
#if PG_VERSION_NUM >= 170000
	return LockHeldByMe(tag, mode, false);
#else
	return LockHeldByMe(tag, mode);
#endif
}

// 19 gave the syscache identifiers, an argument of syscache callbacks, an enum type.
#if PG_VERSION_NUM >= 190000
using SysCacheId = SysCacheIdentifier;
#else
using SysCacheId = int;
#endif

// 16 declares the walker's callback with its arguments; 15 declares it as "bool (*) ()", which C++
// reads as "no arguments".
inline bool
walk_raw_tree(Node *node, bool (*walker)(Node *, void *), void *context)
{
#if PG_VERSION_NUM >= 160000
	return raw_expression_tree_walker(node, walker, context);
#else
	// Cast through void (*) (), which g++ accepts as "any function" without a warning.
	auto *any = reinterpret_cast<void (*)()>(walker);
	return raw_expression_tree_walker(node, reinterpret_cast<bool (*)()>(any), context);
#endif
}

// For expression trees after parse analysis. 16 declares the walker's callback with its arguments;
// 15 does not, as walk_raw_tree() says.
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

// For the parts of a Query, its SortGroupClauses included. 16 declares the walker's callback with its
// arguments; 15 does not, as walk_raw_tree() says.
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

// What the executor checks of a relation that a query names.
struct Permission
{
	Oid relation;
	Oid role; // InvalidOid: the current one
	AclMode rights;
	Bitmapset *selected;
	Bitmapset *inserted;
	Bitmapset *updated;
};

// Calls visit(permission) for each relation of the query itself. 16 moved them out of RangeTblEntry.
template <typename Visit>
void
each_permission(const Query *query, Visit &&visit)
{
	ListCell *cell;
#if PG_VERSION_NUM >= 160000
	foreach (cell, query->rteperminfos) {
		const auto *entry = lfirst_node(RTEPermissionInfo, cell);
		visit(Permission{entry->relid, entry->checkAsUser, entry->requiredPerms,
						 entry->selectedCols, entry->insertedCols, entry->updatedCols});
	}
#else
	foreach (cell, query->rtable) {
		const auto *entry = lfirst_node(RangeTblEntry, cell);
		if (entry->rtekind == RTE_RELATION)
			visit(Permission{entry->relid, entry->checkAsUser, entry->requiredPerms,
							 entry->selectedCols, entry->insertedCols, entry->updatedCols});
	}
#endif
}

// 19 registers the name of an LWLock tranche when it allocates the tranche ID, for all backends.
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

// Before 19, each backend registers the tranche's name for itself.
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

// 17 added named DSM segments; 19 passes an argument to their callback.
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

// 16 replaced the bool that tells whether any index needs new entries by TU_UpdateIndexes.
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

// 19 added options, after the command ID.
inline TM_Result
update_tuple(Relation table, ItemPointer tid, TupleTableSlot *slot, CommandId command, bool wait,
			 TM_FailureData *failure, LockTupleMode *mode, UpdatedIndexes *updated)
{
#if PG_VERSION_NUM >= 190000
	return table_tuple_update(table, tid, slot, command, 0, InvalidSnapshot, InvalidSnapshot, wait,
							  failure, mode, updated);
#else
	return table_tuple_update(table, tid, slot, command, InvalidSnapshot, InvalidSnapshot, wait,
							  failure, mode, updated);
#endif
}

// 19 replaced the argument changingPart by options.
inline TM_Result
delete_tuple(Relation table, ItemPointer tid, CommandId command, Snapshot snapshot, bool wait,
			 TM_FailureData *failure)
{
#if PG_VERSION_NUM >= 190000
	return table_tuple_delete(table, tid, command, 0, snapshot, InvalidSnapshot, wait, failure);
#else
	return table_tuple_delete(table, tid, command, snapshot, InvalidSnapshot, wait, failure, false);
#endif
}

// 18 added an argument that accepts a deferrable primary key; it stays false.
inline Oid
primary_key_of(Relation table)
{
#if PG_VERSION_NUM >= 180000
	return RelationGetPrimaryKeyIndex(table, false);
#else
	return RelationGetPrimaryKeyIndex(table);
#endif
}

// The sequence of an identity column; InvalidOid if it is none. 17 opens the relation itself no more.
inline Oid
identity_sequence(Relation table, AttrNumber column)
{
	if (TupleDescAttr(RelationGetDescr(table), column - 1)->attidentity == '\0')
		return InvalidOid;
#if PG_VERSION_NUM >= 170000
	return getIdentitySequence(table, column, true);
#else
	return getIdentitySequence(RelationGetRelid(table), column, true);
#endif
}

// 18 added the scan's instrumentation, 19 its flags.
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

// 19 may set bits of the visibility map while it prunes, and pins a page of the map for that.
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

// Inserts the index entries of a new tuple; insert_index_tuples() has the versions.
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

// Inserts the index entries that an update needs. 16 added an argument that limits them to
// summarizing indexes; 19 made the arguments flags and put the relation first.
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

// Initializes the executor state's range table with one table. 16 moved permissions out of
// RangeTblEntry; 18 added the set of entries that are not pruned.
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

// Sets the columns of that table that the insert gives a value.
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

// The first transaction whose outcome is kept. XactTruncationLock must be held. 17 renamed ShmemVariableCache.
inline TransactionId
oldest_known_transaction()
{
#if PG_VERSION_NUM >= 170000
	return TransamVariables->oldestClogXid;
#else
	return ShmemVariableCache->oldestClogXid;
#endif
}

// This backend's number among all, from 0. 17 moved it out of PGPROC.
inline int
my_number()
{
#if PG_VERSION_NUM >= 170000
	return MyProcNumber;
#else
	return MyProc->pgprocno;
#endif
}

// Wakes the backend of that number, if there is one.
inline void
set_latch_of(int number)
{
	SetLatch(&GetPGProcByNumber(number)->procLatch);
}

// What a waiting backend shows in pg_stat_activity. 17 added names for extensions.
inline uint32
wait_event()
{
#if PG_VERSION_NUM >= 170000
	static uint32 event = 0;
	if (event == 0)
		event = WaitEventExtensionNew("QueueExtWait");
	return event;
#else
	return PG_WAIT_EXTENSION;
#endif
}

// Whether this backend has a client, and the system tells when it closes its connection.
inline bool
can_see_client()
{
	return MyProcPort != nullptr && WaitEventSetCanReportClosed();
}

// Has the next CHECK_FOR_INTERRUPTS() raise FATAL 08006 if the client has closed its connection.
inline void
check_client()
{
	if (!can_see_client() || pq_check_connection())
		return;
	ClientConnectionLost = 1;
	InterruptPending = 1;
}

// Waits for the latch, and resets it, so long at most. Ends early when the client closes its
// connection, as check_client() finds it.
inline void
wait_for_latch(long ms)
{
	if (!can_see_client()) {
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms,
						 wait_event());
		ResetLatch(MyLatch);
		return;
	}
	WaitEvent event;
	ModifyWaitEvent(FeBeWaitSet, FeBeWaitSetSocketPos, WL_SOCKET_CLOSED, nullptr);
	const int count = WaitEventSetWait(FeBeWaitSet, ms, &event, 1, wait_event());
	if (count == 1 && (event.events & WL_POSTMASTER_DEATH) != 0)
		proc_exit(1);
	if (count == 1 && (event.events & WL_SOCKET_CLOSED) != 0) {
		ClientConnectionLost = 1;
		InterruptPending = 1;
	}
	ResetLatch(MyLatch);
}

// Called for each relation that the planner has looked up, after the hook that was installed
// before. 19 replaced get_relation_info_hook by build_simple_rel_hook.
inline void (*visit_relation)(const PlannerInfo *root, RelOptInfo *relation) = nullptr;

#if PG_VERSION_NUM >= 190000
inline build_simple_rel_hook_type previous_relation_hook = nullptr;

inline void
relation_hook(PlannerInfo *root, RelOptInfo *relation, RangeTblEntry *entry)
{
	if (previous_relation_hook != nullptr)
		previous_relation_hook(root, relation, entry);
	visit_relation(root, relation);
}

inline void
register_relation_hook(void (*visit)(const PlannerInfo *root, RelOptInfo *relation))
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
	visit_relation(root, relation);
}

inline void
register_relation_hook(void (*visit)(const PlannerInfo *root, RelOptInfo *relation))
{
	visit_relation = visit;
	previous_relation_hook = get_relation_info_hook;
	get_relation_info_hook = relation_hook;
}
#endif

// Called before and after the planner plans a statement, also on ERROR. Calls nest where the planner
// evaluates a function that runs a query. 19 added an argument to planner_hook.
inline void (*begin_planning)() = nullptr;
inline void (*end_planning)() = nullptr;
inline planner_hook_type previous_planner_hook = nullptr;

template <typename... Arguments>
PlannedStmt *
plan_between(Arguments... arguments)
{
	PlannedStmt *volatile planned = nullptr;
	begin_planning();
	PG_TRY();
	{
		planned = previous_planner_hook != nullptr ? previous_planner_hook(arguments...)
												   : standard_planner(arguments...);
	}
	PG_FINALLY();
	{
		end_planning();
	}
	PG_END_TRY();
	return planned;
}

inline void
set_planner_hook(void (*begin)(), void (*end)())
{
	begin_planning = begin;
	end_planning = end;
	previous_planner_hook = planner_hook;
#if PG_VERSION_NUM >= 190000
	planner_hook = plan_between<Query *, const char *, int, ParamListInfo, ExplainState *>;
#else
	planner_hook = plan_between<Query *, const char *, int, ParamListInfo>;
#endif
}

} // namespace queue_ext::compat

// Whether named_segment() exists.
#define QUEUE_EXT_HAS_NAMED_SEGMENTS (PG_VERSION_NUM >= 170000)

// 18 lets a module report its name and version (pg_get_loaded_modules()).
#if PG_VERSION_NUM >= 180000
#define QUEUE_EXT_MODULE_MAGIC                                                                     \
	PG_MODULE_MAGIC_EXT(.name = "queue_ext", .version = QUEUE_EXT_VERSION)
#else
#define QUEUE_EXT_MODULE_MAGIC PG_MODULE_MAGIC
#endif
