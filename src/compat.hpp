// compat.hpp - the one place that asks which PostgreSQL this is.
//
// Each entry has the newest server's name and signature, and says since when it
// is so. None of them raises or locks beyond what the wrapped call does.

#pragma once

#include "postgres.hpp"

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

// 18 lets a module tell its name and version (pg_get_loaded_modules()).
#if PG_VERSION_NUM >= 180000
#define QUEUE_EXT_MODULE_MAGIC                                                                     \
	PG_MODULE_MAGIC_EXT(.name = "queue_ext", .version = QUEUE_EXT_VERSION)
#else
#define QUEUE_EXT_MODULE_MAGIC PG_MODULE_MAGIC
#endif
