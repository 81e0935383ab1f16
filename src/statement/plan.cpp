// plan.cpp - see plan.hpp.

#include "../postgres.hpp"

#include "plan.hpp"

#include "../compat.hpp"
#include "../error.hpp"
#include "search_path.hpp"

namespace queue_ext::statement {

namespace {

// An index hidden from the planner in queries of this kind. A claim may consist of a SELECT that
// finds the rows, and the UPDATE around it.
struct Hidden
{
	Oid index;
	CmdType command;
};

} // namespace

// The indexes hidden for the plan that is being made begin at hidden_first; before them are those of
// plans in whose planning it is being made.
constexpr int max_hidden = 32;
static Hidden hidden[max_hidden];
static int hidden_first = 0;
static int hidden_count = 0;

// How the statement should find its rows whose plan is being made.
static Access planned = Access::by_key;

// Whether a query of that kind in it finds its rows by the row key.
static bool
is_by_row_key(CmdType command)
{
	return planned == Access::by_row_key ||
		   (planned != Access::by_key && planned != Access::by_tid && command == CMD_UPDATE);
}

static bool
is_hidden(Oid index, CmdType command)
{
	for (int i = hidden_first; i < hidden_count; i++)
		if (hidden[i].index == index && hidden[i].command == command)
			return true;
	return false;
}

// False if there is no room.
static bool
hide(Oid index, CmdType command)
{
	if (hidden_count == max_hidden)
		return false;
	hidden[hidden_count++] = {index, command};
	return true;
}

// Removes the hidden indexes from the relation's list, for this planning only.
static void
hide_indexes(const PlannerInfo *root, RelOptInfo *relation)
{
	if (hidden_count == hidden_first)
		return;
	List *visible = NIL;
	ListCell *cell;
	foreach (cell, relation->indexlist)
		if (!is_hidden(static_cast<IndexOptInfo *>(lfirst(cell))->indexoid,
					   root->parse->commandType))
			visible = lappend(visible, lfirst(cell));
	relation->indexlist = visible;
}

// Where the planner believes that the table is empty, reading all of it costs no more than finding
// a row by its key.
static void
assume_many_rows(RelOptInfo *relation)
{
	constexpr double rows = 1e6;
	constexpr BlockNumber pages = 20000;
	relation->tuples = Max(relation->tuples, rows);
	relation->pages = Max(relation->pages, pages);
	ListCell *cell;
	foreach (cell, relation->indexlist) {
		auto *index = static_cast<IndexOptInfo *>(lfirst(cell));
		if (index->indpred != NIL)
			continue;
		index->tuples = Max(index->tuples, rows);
		index->pages = Max(index->pages, pages / 4);
	}
}

// Whether the relation has the alias of the queue's table in statements.
static bool
is_queues_table(const PlannerInfo *root, const RelOptInfo *relation)
{
	return strcmp(root->simple_rte_array[relation->relid]->eref->aliasname, "t") == 0;
}

// The planner hook.
static void
visit_relation(const PlannerInfo *root, RelOptInfo *relation)
{
	if (planned == Access::by_tid) {
		if (is_queues_table(root, relation))
			relation->indexlist = NIL;
		return;
	}
	hide_indexes(root, relation);
	if (is_by_row_key(root->parse->commandType))
		assume_many_rows(relation);
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
	compat::register_relation_hook(visit_relation);
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
	{"enable_seqscan", "off"},   {"enable_bitmapscan", "off"},
	{"enable_sort", "off"},      {"enable_hashjoin", "off"},
	{"enable_mergejoin", "off"}, {"enable_memoize", "off"},
	{"enable_indexscan", "on"},  {"enable_nestloop", "on"},
	{"enable_tidscan", "on"},    {"jit", "off"},
};
// The same for a plan that sorts what bitmap scans find.
static constexpr Setting bitmap_settings[] = {
	{"enable_seqscan", "off"},
	{"enable_indexscan", "off"},
	{"enable_indexonlyscan", "off"},
	{"enable_hashjoin", "off"},
	{"enable_mergejoin", "off"},
	{"enable_memoize", "off"},
	{"enable_bitmapscan", "on"},
	{"enable_sort", "on"},
	{"enable_nestloop", "on"},
	{"enable_tidscan", "on"},
	{"jit", "off"},
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

namespace {

// How a plan finds rows by the row key.
struct KeyScans
{
	CmdType command;
	Oid loose_index; // one that leads to other rows, too; or InvalidOid
	bool reads_all;  // there is a sequential scan
};

} // namespace

// The columns of the table for which the conditions of an index name a value.
static Bitmapset *
named_columns(const List *conditions, Relation index)
{
	Bitmapset *columns = nullptr;
	ListCell *cell;
	foreach (cell, conditions) {
		const auto *condition = static_cast<OpExpr *>(lfirst(cell));
		if (!IsA(condition, OpExpr) || !IsA(linitial(condition->args), Var))
			continue;
		const int i = linitial_node(Var, condition->args)->varattno - 1;
		if (get_op_opfamily_strategy(condition->opno, index->rd_opfamily[i]) ==
				BTEqualStrategyNumber &&
			index->rd_index->indkey.values[i] > 0)
			columns = bms_add_member(columns, index->rd_index->indkey.values[i]);
	}
	return columns;
}

// Whether no two rows are equal in these columns.
static bool
is_unique_by(Relation index, const Bitmapset *columns)
{
	const Form_pg_index form = index->rd_index;
	if (!form->indisunique || !heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, nullptr))
		return false;
	for (int i = 0; i < form->indnkeyatts; i++)
		if (form->indkey.values[i] <= 0 || !bms_is_member(form->indkey.values[i], columns))
			return false;
	return true;
}

// Whether the conditions of an index name the values of a key.
static bool
finds_one_row(const List *conditions, Oid index_oid)
{
	Relation index = index_open(index_oid, AccessShareLock);
	const Bitmapset *columns = named_columns(conditions, index);
	Relation table = table_open(index->rd_index->indrelid, AccessShareLock);
	bool is_one = false;
	ListCell *cell;
	foreach (cell, RelationGetIndexList(table)) {
		Relation other = index_open(lfirst_oid(cell), AccessShareLock);
		is_one |= is_unique_by(other, columns);
		index_close(other, AccessShareLock);
	}
	table_close(table, AccessShareLock);
	index_close(index, AccessShareLock);
	return is_one;
}

static void look_at_key_scans(const Plan *plan, KeyScans *scans);

static void
look_at_all(const List *plans, KeyScans *scans)
{
	ListCell *cell;
	foreach (cell, plans)
		look_at_key_scans(static_cast<Plan *>(lfirst(cell)), scans);
}

static void
look_at_index(const List *conditions, Oid index, KeyScans *scans)
{
	if (!finds_one_row(conditions, index))
		scans->loose_index = index;
}

// Does not follow sub-plans, such as the CTE.
static void
look_at_key_scans(const Plan *plan, KeyScans *scans)
{
	if (plan == nullptr)
		return;
	switch (nodeTag(plan)) {
		case T_SeqScan:
			scans->reads_all = true;
			break;
		case T_IndexScan: {
			const auto *scan = reinterpret_cast<const IndexScan *>(plan);
			look_at_index(scan->indexqual, scan->indexid, scans);
			break;
		}
		case T_BitmapIndexScan: {
			const auto *scan = reinterpret_cast<const BitmapIndexScan *>(plan);
			look_at_index(scan->indexqual, scan->indexid, scans);
			break;
		}
		case T_Append:
			look_at_all(reinterpret_cast<const Append *>(plan)->appendplans, scans);
			break;
		case T_BitmapAnd:
			look_at_all(reinterpret_cast<const BitmapAnd *>(plan)->bitmapplans, scans);
			break;
		default:
			break;
	}
	look_at_key_scans(plan->lefttree, scans);
	look_at_key_scans(plan->righttree, scans);
}

static KeyScans
key_scans_of(SPIPlanPtr plan)
{
	KeyScans scans{};
	ListCell *cell;
	foreach (cell, source_of(plan)->gplan->stmt_list) {
		const auto *statement = lfirst_node(PlannedStmt, cell);
		if (statement->commandType == CMD_UTILITY || !is_by_row_key(statement->commandType))
			continue;
		scans.command = statement->commandType;
		look_at_key_scans(statement->planTree, &scans);
	}
	return scans;
}

// Makes the plan, and again without each loose index. If then no index serves, the first plan is made
// again: under row security a policy may have to come before the comparison of the key.
template <size_t count>
static void
make_keyed_plan(SPIPlanPtr plan, const Setting (&settings)[count])
{
	const int hidden_before = hidden_count;
	for (;;) {
		CHECK_FOR_INTERRUPTS();
		make_plan(plan, settings);
		const KeyScans scans = key_scans_of(plan);
		if (scans.reads_all && hidden_count > hidden_before)
			break;
		if (!OidIsValid(scans.loose_index))
			return;
		if (!hide(scans.loose_index, scans.command))
			break;
	}
	hidden_count = hidden_before;
	make_plan(plan, settings);
}

// Plans with the order from an index, and hides one useless index after the other. False if no plan
// is served.
static bool
plan_in_order(SPIPlanPtr plan, Access access)
{
	for (;;) {
		make_keyed_plan(plan, ordered_settings);
		const Plan *rows = limit_of(plan);
		if (rows == nullptr)
			return true;
		const Verdict verdict = judge(rows, access);
		if (verdict.is_served)
			return !reads_ahead(rows);
		if (!OidIsValid(verdict.useless_index) || !hide(verdict.useless_index, CMD_SELECT))
			return false;
	}
}

// Second choice: bitmap scans of indexes that restrict, and a sort.
static bool
plan_with_bitmap(SPIPlanPtr plan)
{
	make_keyed_plan(plan, bitmap_settings);
	const Plan *rows = limit_of(plan);
	return rows == nullptr || judge(rows, Access::restricted).is_served;
}

// If nothing serves, the first kind of plan is made again, with all indexes visible.
static void
plan_claim(SPIPlanPtr plan, Access access)
{
	if (plan_in_order(plan, access))
		return;
	hidden_count = hidden_first;
	if (plan_with_bitmap(plan))
		return;
	hidden_count = hidden_first;
	make_keyed_plan(plan, ordered_settings);
}

static void
plan_by(SPIPlanPtr plan, Access access)
{
	if (access == Access::by_tid)
		make_plan(plan, ordered_settings);
	else if (access == Access::by_key || access == Access::by_row_key)
		make_keyed_plan(plan, ordered_settings);
	else
		plan_claim(plan, access);
}

// PG_FINALLY: on ERROR the indexes must not stay hidden from the session's other queries.
static void
plan_for(SPIPlanPtr plan, Access access)
{
	const int first_before = hidden_first;
	const Access planned_before = planned;
	hidden_first = hidden_count;
	planned = access;
	PG_TRY();
	{
		plan_by(plan, access);
	}
	PG_FINALLY();
	{
		hidden_count = hidden_first;
		hidden_first = first_before;
		planned = planned_before;
	}
	PG_END_TRY();
}

// False where a message about a schema came while the statement was analyzed and planned: a name
// may have meant another table then, so the statement is analyzed again.
static bool
make_generic_plan(SPIPlanPtr plan, Access access, const Tables &tables)
{
	const uint64 changes_before = schema_changes;
	plan_for(plan, access);
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
