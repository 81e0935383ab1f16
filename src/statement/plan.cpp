// plan.cpp - see plan.hpp.

#include "../postgres.hpp"

#include "plan.hpp"

#include "../compat.hpp"
#include "../error.hpp"
#include "search_path.hpp"

namespace queue_ext::statement {

// The indexes that the planner is not to see just now.
constexpr int max_hidden = 32;
static Oid hidden[max_hidden];
static int hidden_count = 0;

static bool
is_hidden(Oid index)
{
	for (int i = 0; i < hidden_count; i++)
		if (hidden[i] == index)
			return true;
	return false;
}

static void
hide_indexes(RelOptInfo *relation)
{
	if (hidden_count == 0)
		return;
	List *visible = NIL;
	ListCell *cell;
	foreach (cell, relation->indexlist)
		if (!is_hidden(static_cast<IndexOptInfo *>(lfirst(cell))->indexoid))
			visible = lappend(visible, lfirst(cell));
	relation->indexlist = visible;
}

static uint64 schema_changes = 0;

static void
on_schema_change(Datum, compat::SysCacheId, uint32)
{
	schema_changes++;
}

uint64
schema_change_count()
{
	return schema_changes;
}

void
register_planning()
{
	compat::register_relation_hook(hide_indexes);
	CacheRegisterSyscacheCallback(NAMESPACEOID, on_schema_change, static_cast<Datum>(0));
}

void
check_named(const Named &named)
{
	const RangeVar *name =
		makeRangeVarFromNameList(textToQualifiedNameList(cstring_to_text(named.name)));
	if (!OidIsValid(named.table) || RangeVarGetRelid(name, NoLock, true) != named.table)
		error::gone_during_command(named.name);
}

static CachedPlanSource *
source_of(SPIPlanPtr plan)
{
	return static_cast<CachedPlanSource *>(linitial(SPI_plan_get_plan_sources(plan)));
}

void
parse_again(SPIPlanPtr plan)
{
	source_of(plan)->is_valid = false;
}

namespace {

// The plans generic by this backend: which of its generic plans was the generic one.
// A plan that plancache.c has made anew since, on its own, is not.
struct GenericPlan
{
	SPIPlanPtr plan; // the hash key
	int generation;
};

} // namespace

static HTAB *generic_plans = nullptr;

static GenericPlan *
generic_plan_of(SPIPlanPtr plan)
{
	if (generic_plans == nullptr) {
		HASHCTL control{};
		control.keysize =
			sizeof(GenericPlan::plan); // NOLINT(bugprone-sizeof-expression): the pointer is the key
		control.entrysize = sizeof(GenericPlan);
		generic_plans = hash_create("queue_ext pinned plans", 64, &control, HASH_ELEM | HASH_BLOBS);
	}
	bool is_found;
	auto *entry =
		static_cast<GenericPlan *>(hash_search(generic_plans, &plan, HASH_ENTER, &is_found));
	if (!is_found)
		entry->generation = -1;
	return entry;
}

void
forget_plan(SPIPlanPtr plan)
{
	if (generic_plans != nullptr)
		hash_search(generic_plans, &plan, HASH_REMOVE, nullptr);
}

// Whether the plan at hand is the generic one and will be used: the conditions under
// which plancache.c keeps a generic plan.
static bool
is_planned(const CachedPlanSource *source, const GenericPlan *entry)
{
	const CachedPlan *plan = source->gplan;
	if (!source->is_valid || plan == nullptr || !plan->is_valid ||
		plan->generation != entry->generation)
		return false;
	if (source->dependsOnRLS &&
		(source->rewriteRoleId != GetUserId() || source->rewriteRowSecurity != row_security))
		return false;
	if (plan->dependsOnRole && plan->planRoleId != GetUserId())
		return false;
	return !TransactionIdIsValid(plan->saved_xmin) ||
		   TransactionIdEquals(plan->saved_xmin, TransactionXmin);
}

// Sees to it that there is a plan, and takes the locks of its execution, which the
// transaction keeps. Waiting for one may bring news that make the plan invalid.
static void
take_locks(SPIPlanPtr plan)
{
	CachedPlan *cached = SPI_plan_get_cached_plan(plan);
	if (cached != nullptr)
		ReleaseCachedPlan(cached, CurrentResourceOwner);
}

// Settings for planning, whatever the user's are. JIT is off because the price the
// planner puts on a disabled node would switch it on.
static constexpr Setting ordered_settings[] = {
	{"enable_seqscan", "off"},  {"enable_bitmapscan", "off"}, {"enable_sort", "off"},
	{"enable_hashjoin", "off"}, {"enable_mergejoin", "off"},  {"enable_indexscan", "on"},
	{"enable_nestloop", "on"},  {"enable_tidscan", "on"},     {"jit", "off"},
};
static constexpr Setting bitmap_settings[] = {
	{"enable_seqscan", "off"},       {"enable_indexscan", "off"},
	{"enable_indexonlyscan", "off"}, {"enable_hashjoin", "off"},
	{"enable_mergejoin", "off"},     {"enable_bitmapscan", "on"},
	{"enable_sort", "on"},           {"enable_nestloop", "on"},
	{"enable_tidscan", "on"},        {"jit", "off"},
};

// Makes the generic plan anew under these settings.
template <size_t count>
static void
make_plan(SPIPlanPtr plan, const Setting (&settings)[count])
{
	const int level = NewGUCNestLevel();
	set_reading_settings(bare_search_path);
	for (const Setting &setting : settings)
		set_locally(setting);
	if (source_of(plan)->gplan != nullptr)
		source_of(plan)->gplan->is_valid = false;
	take_locks(plan);
	AtEOXact_GUC(true, level);
}

namespace {

// What looking at a plan has found.
struct Verdict
{
	bool is_served;
	Oid useless_index; // that has the order but does not restrict; or InvalidOid
};

} // namespace

static bool
is_partial(Oid index)
{
	HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	if (!HeapTupleIsValid(tuple))
		return false;
	const bool is_partial = !heap_attisnull(tuple, Anum_pg_index_indpred, nullptr);
	ReleaseSysCache(tuple);
	return is_partial;
}

static Verdict
judge_index(const List *conditions, Oid index, Access access)
{
	if (access == Access::restricted && conditions == NIL && !is_partial(index))
		return {false, index};
	return {true, InvalidOid};
}

static Verdict judge(const Plan *plan, Access access);

static Verdict
judge_all(const List *plans, Access access)
{
	ListCell *cell;
	foreach (cell, plans) {
		const Verdict verdict = judge(static_cast<Plan *>(lfirst(cell)), access);
		if (!verdict.is_served)
			return verdict;
	}
	return {true, InvalidOid};
}

static Verdict
judge(const Plan *plan, Access access)
{
	switch (nodeTag(plan)) {
		case T_Limit:
		case T_LockRows:
		case T_Result:
		case T_Sort:
		case T_BitmapHeapScan:
		case T_NestLoop: // the order is the outer side's
		case T_Memoize:
		case T_Material:
			if (plan->lefttree != nullptr)
				return judge(plan->lefttree, access);
			return {true, InvalidOid}; // a constant: nothing is ever pending
		case T_Append:
			return judge_all(reinterpret_cast<const Append *>(plan)->appendplans, access);
		case T_MergeAppend:
			return judge_all(reinterpret_cast<const MergeAppend *>(plan)->mergeplans, access);
		case T_BitmapOr:
			return judge_all(reinterpret_cast<const BitmapOr *>(plan)->bitmapplans, access);
		case T_BitmapAnd:
			return judge_all(reinterpret_cast<const BitmapAnd *>(plan)->bitmapplans, access);
		case T_SubqueryScan:
			return judge(reinterpret_cast<const SubqueryScan *>(plan)->subplan, access);
		case T_IndexScan: {
			const auto *scan = reinterpret_cast<const IndexScan *>(plan);
			return judge_index(scan->indexqual, scan->indexid, access);
		}
		case T_IndexOnlyScan: {
			const auto *scan = reinterpret_cast<const IndexOnlyScan *>(plan);
			return judge_index(scan->indexqual, scan->indexid, access);
		}
		case T_BitmapIndexScan: {
			const auto *scan = reinterpret_cast<const BitmapIndexScan *>(plan);
			return judge_index(scan->indexqual, scan->indexid, access);
		}
		default:
			return {access == Access::anywhere, InvalidOid};
	}
}

// Whether all pending rows are read before the first is handed on.
static bool
reads_ahead(const Plan *plan)
{
	bool does = false;
	for (; plan != nullptr; plan = plan->lefttree) {
		if (IsA(plan, Result) && plan->lefttree == nullptr)
			return false; // there are none
		does = does || IsA(plan, Sort) || IsA(plan, IncrementalSort) || IsA(plan, BitmapHeapScan);
	}
	return does;
}

static const Plan *
limit_of(const PlannedStmt *statement)
{
	if (statement->commandType == CMD_UTILITY)
		return nullptr;
	if (IsA(statement->planTree, Limit))
		return statement->planTree;
	ListCell *cell;
	foreach (cell, statement->planTree->initPlan) {
		const auto *subplan = lfirst_node(SubPlan, cell);
		// It is called "CTE candidate", from 19 on just "candidate".
		if (subplan->subLinkType == CTE_SUBLINK &&
			strstr(subplan->plan_name, "candidate") != nullptr)
			return static_cast<Plan *>(list_nth(statement->subplans, subplan->plan_id - 1));
	}
	return nullptr;
}

// The part of a claim's plan that finds the rows: the LIMIT at the top, or that of
// the statement's own CTE. Null where a rule has made something else of the claim.
static const Plan *
limit_of(SPIPlanPtr plan)
{
	const Plan *found = nullptr;
	ListCell *cell;
	foreach (cell, source_of(plan)->gplan->stmt_list)
		if (found == nullptr)
			found = limit_of(lfirst_node(PlannedStmt, cell));
	return found;
}

// Plans with the order from an index, hiding one useless index after the other.
static bool
plan_in_order(SPIPlanPtr plan, Access access)
{
	for (;;) {
		CHECK_FOR_INTERRUPTS();
		make_plan(plan, ordered_settings);
		const Plan *rows = limit_of(plan);
		if (rows == nullptr)
			return true;
		const Verdict verdict = judge(rows, access);
		if (verdict.is_served)
			return !reads_ahead(rows);
		if (!OidIsValid(verdict.useless_index) || hidden_count == max_hidden)
			return false;
		hidden[hidden_count++] = verdict.useless_index;
	}
}

// Second best: collect what is pending from indexes that restrict, and sort.
static bool
plan_with_bitmap(SPIPlanPtr plan)
{
	make_plan(plan, bitmap_settings);
	const Plan *rows = limit_of(plan);
	return rows == nullptr || judge(rows, Access::restricted).is_served;
}

static void
plan_claim(SPIPlanPtr plan, Access access)
{
	const int hidden_before = hidden_count;
	volatile bool is_good = false;
	PG_TRY();
	{
		is_good = plan_in_order(plan, access);
	}
	PG_FINALLY();
	{
		hidden_count = hidden_before;
	}
	PG_END_TRY();
	if (!is_good && !plan_with_bitmap(plan))
		make_plan(plan, ordered_settings);
}

// False where a name may have meant another table for a moment: then it is parsed again.
static bool
make_generic_plan(SPIPlanPtr plan, Access access, const Tables &tables)
{
	const uint64 changes_before = schema_changes;
	if (access == Access::by_key)
		make_plan(plan, ordered_settings);
	else
		plan_claim(plan, access);
	for (int i = 0; i < tables.count; i++)
		check_named(tables.list[i]);
	if (schema_changes != changes_before) {
		parse_again(plan);
		return false;
	}
	// Planning may have generic others.
	generic_plan_of(plan)->generation = source_of(plan)->gplan->generation;
	return true;
}

void
keep_generic_plan(SPIPlanPtr plan, Access access, const Tables &tables)
{
	// With all locks held no news come between here and the execution, so what is
	// executed was parsed and planned by us. Only where everything that is cached is
	// discarded all the time (debug_discard_caches) it is parsed anew, under the caller's
	// path; there all names have their schema, but for the operators behind NULLIF and
	// its like in a fragment.
	constexpr int tries = 10;
	CachedPlanSource *source = source_of(plan);
	for (int i = 0; i < tries; i++) {
		CHECK_FOR_INTERRUPTS();
		if (!is_planned(source, generic_plan_of(plan)) && !make_generic_plan(plan, access, tables))
			continue;
		compat::set_search_path_current(source);
		take_locks(plan);
		if (is_planned(source, generic_plan_of(plan)))
			return;
	}
}

bool
is_served(SPIPlanPtr plan, Access access, const Tables &tables)
{
	keep_generic_plan(plan, access, tables);
	const Plan *rows = limit_of(plan);
	return rows == nullptr || (judge(rows, access).is_served && !reads_ahead(rows));
}

} // namespace queue_ext::statement
