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

// 17 renamed OverrideSearchPath to SearchPathMatcher.
inline bool
search_path_is_current(const CachedPlanSource *source)
{
#if PG_VERSION_NUM >= 170000
	return SearchPathMatchesCurrentEnvironment(source->search_path);
#else
	return OverrideSearchPathMatchesCurrent(source->search_path);
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

} // namespace queue_ext::compat

// 18 lets a module tell its name and version (pg_get_loaded_modules()).
#if PG_VERSION_NUM >= 180000
#define QUEUE_EXT_MODULE_MAGIC                                                                     \
	PG_MODULE_MAGIC_EXT(.name = "queue_ext", .version = QUEUE_EXT_VERSION)
#else
#define QUEUE_EXT_MODULE_MAGIC PG_MODULE_MAGIC
#endif
