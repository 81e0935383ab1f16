// plan.cpp - see plan.hpp.

#include "../postgres.hpp"

#include "plan.hpp"

#include "../compat.hpp"
#include "../error.hpp"
#include "search_path.hpp"

namespace queue_ext::statement {

// The indexes hidden from the planner, for the plan that is being made. A nested planning adds its
// own behind those, and removes them.
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

// Whether the planner is to find the rows of the relation with the alias t by their TIDs.
static bool is_by_tid = false;

// Whether the relation has the alias of the queue's table in statements.
static bool
is_queues_table(PlannerInfo *root, const RelOptInfo *relation)
{
	return strcmp(root->simple_rte_array[relation->relid]->eref->aliasname, "t") == 0;
}

// The planner hook: removes the hidden indexes from the relation's list, for this planning only.
static void
hide_indexes(PlannerInfo *root, RelOptInfo *relation)
{
	if (is_by_tid && is_queues_table(root, relation)) {
		relation->indexlist = NIL;
		return;
	}
	if (hidden_count == 0)
		return;
	List *visible = NIL;
	ListCell *cell;
	foreach (cell, relation->indexlist)
		if (!is_hidden(static_cast<IndexOptInfo *>(lfirst(cell))->indexoid))
			visible = lappend(visible, lfirst(cell));
	relation->indexlist = visible;
}

// Never reset: a caller compares two readings.
static uint64 schema_changes = 0;

// The hash value does not matter: any schema may have been renamed into a name that a text has.
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

// Looks the name up without a lock: the caller's lock on the table keeps its name, and a message
// about a schema leads to another check.
void
check_named(const Named &named)
{
	const RangeVar *name =
		makeRangeVarFromNameList(textToQualifiedNameList(cstring_to_text(named.name)));
	if (!OidIsValid(named.table) || RangeVarGetRelid(name, NoLock, true) != named.table)
		error::gone_during_command(named.name);
}

// A statement is one command, so its SPI plan has one source.
static CachedPlanSource *
source_of(SPIPlanPtr plan)
{
	return static_cast<CachedPlanSource *>(linitial(SPI_plan_get_plan_sources(plan)));
}

// Sets the flag that an invalidation message sets; plancache.c analyzes the query again when it is
// asked for a plan.
void
parse_again(SPIPlanPtr plan)
{
	source_of(plan)->is_valid = false;
}

namespace {

// For each SPI plan, the generation of the generic plan that make_generic_plan() made. A plan that
// plancache.c has made since, by itself, has another generation.
struct GenericPlan
{
	SPIPlanPtr plan; // the hash key
	int generation;
};

} // namespace

// Grows with the statements that this backend has prepared; forget_plan() removes an entry.
static HTAB *generic_plans = nullptr;

// Enters the plan if it is not known, with a generation that no plan has.
static GenericPlan *
generic_plan_of(SPIPlanPtr plan)
{
	if (generic_plans == nullptr) {
		HASHCTL control{};
		control.keysize =
			sizeof(GenericPlan::plan); // NOLINT(bugprone-sizeof-expression): the pointer is the key
		control.entrysize = sizeof(GenericPlan);
		generic_plans =
			hash_create("queue_ext generic plans", 64, &control, HASH_ELEM | HASH_BLOBS);
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

// Whether the current generic plan is the one that make_generic_plan() made, and plancache.c will
// use it: the conditions of RevalidateCachedQuery() and CheckCachedPlan().
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

// Makes plancache.c produce a plan and take the locks that its execution needs; the transaction
// keeps the locks. Waiting for one may accept messages that invalidate the plan.
static void
take_locks(SPIPlanPtr plan)
{
	CachedPlan *cached = SPI_plan_get_cached_plan(plan);
	if (cached != nullptr)
		ReleaseCachedPlan(cached, CurrentResourceOwner);
}

// Settings for planning, whatever the session's are. JIT is off because the cost that the planner
// adds for a disabled node would exceed jit_above_cost.
static constexpr Setting ordered_settings[] = {
	{"enable_seqscan", "off"},  {"enable_bitmapscan", "off"}, {"enable_sort", "off"},
	{"enable_hashjoin", "off"}, {"enable_mergejoin", "off"},  {"enable_indexscan", "on"},
	{"enable_nestloop", "on"},  {"enable_tidscan", "on"},     {"jit", "off"},
};
// The same for a plan that sorts what bitmap scans find.
static constexpr Setting bitmap_settings[] = {
	{"enable_seqscan", "off"},       {"enable_indexscan", "off"},
	{"enable_indexonlyscan", "off"}, {"enable_hashjoin", "off"},
	{"enable_mergejoin", "off"},     {"enable_bitmapscan", "on"},
	{"enable_sort", "on"},           {"enable_nestloop", "on"},
	{"enable_tidscan", "on"},        {"jit", "off"},
};

// Makes the generic plan again under these settings. On ERROR the GUC nest level ends with the
// subtransaction or transaction.
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

// The result of judge().
struct Verdict
{
	bool is_served;
	Oid useless_index; // has the order and does not restrict; or InvalidOid
};

} // namespace

// A partial index restricts the rows by its predicate, even without an index condition.
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

// A scan without a condition of an index that is not partial reads the table's rows that are not
// pending, too.
static Verdict
judge_index(const List *conditions, Oid index, Access access)
{
	if (access == Access::restricted && conditions == NIL && !is_partial(index))
		return {false, index};
	return {true, InvalidOid};
}

static Verdict judge(const Plan *plan, Access access);

// All children must be served; the first that is not names the useless index.
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

// Follows the path on which the rows of the claim come up; an unknown node serves Access::anywhere
// only.
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

// Whether the plan reads all pending rows before it returns the first.
static bool
reads_ahead(const Plan *plan)
{
	bool does = false;
	for (; plan != nullptr; plan = plan->lefttree) {
		if (IsA(plan, Result) && plan->lefttree == nullptr)
			return false; // no rows at all
		does = does || IsA(plan, Sort) || IsA(plan, IncrementalSort) || IsA(plan, BitmapHeapScan);
	}
	return does;
}

// The LIMIT that finds a claim's rows in one planned statement; a utility command has none.
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
		// The subplan is called "CTE candidate", from 19 on "candidate".
		if (subplan->subLinkType == CTE_SUBLINK &&
			strstr(subplan->plan_name, "candidate") != nullptr)
			return static_cast<Plan *>(list_nth(statement->subplans, subplan->plan_id - 1));
	}
	return nullptr;
}

// The part of a claim's plan that finds the rows: the LIMIT at the top, or that of the statement's
// own CTE. Null where a rule has rewritten the claim to something else.
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

// Plans with the order from an index, and hides one useless index after the other. False if no plan
// is served.
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

// Second choice: bitmap scans of indexes that restrict, and a sort.
static bool
plan_with_bitmap(SPIPlanPtr plan)
{
	make_plan(plan, bitmap_settings);
	const Plan *rows = limit_of(plan);
	return rows == nullptr || judge(rows, Access::restricted).is_served;
}

// PG_FINALLY: on ERROR the indexes must not stay hidden from the session's other queries. If
// nothing serves, the first kind of plan is made again, with all indexes visible.
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

// PG_FINALLY: on ERROR the session's other queries must see the indexes again. A statement of ours
// that is planned within has its own access.
static void
plan_as(SPIPlanPtr plan, Access access)
{
	const bool was_by_tid = is_by_tid;
	is_by_tid = access == Access::by_tid;
	PG_TRY();
	{
		if (access == Access::by_key || access == Access::by_tid)
			make_plan(plan, ordered_settings);
		else
			plan_claim(plan, access);
	}
	PG_FINALLY();
	{
		is_by_tid = was_by_tid;
	}
	PG_END_TRY();
}

// False where a message about a schema came while the statement was analyzed and planned: a name
// may have meant another table then, so the statement is analyzed again.
static bool
make_generic_plan(SPIPlanPtr plan, Access access, const Tables &tables)
{
	const uint64 changes_before = schema_changes;
	plan_as(plan, access);
	for (int i = 0; i < tables.count; i++)
		check_named(tables.list[i]);
	if (schema_changes != changes_before) {
		parse_again(plan);
		return false;
	}
	// Looked up only now: planning may have prepared or discarded other plans.
	generic_plan_of(plan)->generation = source_of(plan)->gplan->generation;
	return true;
}

// Repeated, since taking the plan's locks may accept messages that invalidate it.
void
keep_generic_plan(SPIPlanPtr plan, Access access, const Tables &tables)
{
	// With all locks held no message comes between here and the execution, so the plan that is
	// executed was analyzed and made here. The exception is debug_discard_caches: the query is
	// analyzed again when it is executed, under the caller's path. Its names have their schemas,
	// except the operators behind NULLIF and the like in a fragment. So after these tries the
	// statement runs as it is.
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
