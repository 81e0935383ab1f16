// plan_tree.cpp - see plan_tree.hpp.

#include "../postgres.hpp"

#include "plan_tree.hpp"

#include "../compat.hpp"
#include "parameter.hpp"

namespace queue_ext::statement {

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

// Tree walker: whether there is the cursor of a fill, which is a row of the table.
static bool
has_cursor(Node *node, void *context)
{
	constexpr int cursor = static_cast<int>(Parameter::row) + 1;
	if (node == nullptr)
		return false;
	if (IsA(node, Param))
		return reinterpret_cast<Param *>(node)->paramkind == PARAM_EXTERN &&
			   reinterpret_cast<Param *>(node)->paramid == cursor;
	return compat::walk_tree(node, has_cursor, context);
}

// Behind the cursor there may be as many rows that are not pending as anywhere.
static bool
restricts(const List *conditions)
{
	ListCell *cell;
	foreach (cell, conditions)
		if (!has_cursor(static_cast<Node *>(lfirst(cell)), nullptr))
			return true;
	return false;
}

// A scan without a condition of an index that is not partial reads the table's rows that are not
// pending, too.
static Verdict
judge_index(const List *conditions, Oid index, Access access)
{
	if (access == Access::restricted && !restricts(conditions) && !is_partial(index))
		return {false, index};
	return {true, InvalidOid};
}

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
Verdict
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

static Oid
find_loose_among(const List *plans)
{
	Oid index = InvalidOid;
	ListCell *cell;
	foreach (cell, plans)
		if (!OidIsValid(index))
			index = find_loose_index(static_cast<Plan *>(lfirst(cell)));
	return index;
}

// Goes down the plan as judge() does, as far as that keeps the order.
Oid
find_loose_index(const Plan *plan)
{
	switch (nodeTag(plan)) {
		case T_Append:
			return find_loose_among(reinterpret_cast<const Append *>(plan)->appendplans);
		case T_MergeAppend:
			return find_loose_among(reinterpret_cast<const MergeAppend *>(plan)->mergeplans);
		case T_SubqueryScan:
			return find_loose_index(reinterpret_cast<const SubqueryScan *>(plan)->subplan);
		case T_IndexScan:
			return has_cursor(reinterpret_cast<Node *>(plan->qual), nullptr)
					   ? reinterpret_cast<const IndexScan *>(plan)->indexid
					   : InvalidOid;
		default:
			return plan->lefttree == nullptr ? InvalidOid : find_loose_index(plan->lefttree);
	}
}

bool
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

RowSource
row_source_of(const List *statements)
{
	ListCell *cell;
	foreach (cell, statements) {
		const auto *statement = lfirst_node(PlannedStmt, cell);
		const Plan *limit = limit_of(statement);
		if (limit != nullptr)
			return {limit, statement->rtable};
	}
	return {};
}

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

// A sub-select, such as the CTE, is not looked at.
KeyScans
key_scans_of(const PlannedStmt *statement)
{
	KeyScans scans{};
	if (statement->commandType != CMD_UTILITY)
		look_at_key_scans(statement->planTree, &scans);
	return scans;
}

// The part of a scan's cost that goes into rows that are not pending, as far as the planner knows.
static double
passing_cost_of_scan(const Scan *scan, const List *range_table)
{
	const auto *entry = list_nth_node(RangeTblEntry, range_table, scan->scanrelid - 1);
	Relation table = table_open(entry->relid, AccessShareLock);
	BlockNumber pages;
	double rows;
	double visible;
	estimate_rel_size(table, nullptr, &pages, &rows, &visible);
	const bool is_known = table->rd_rel->reltuples > 0;
	table_close(table, AccessShareLock);
	if (!is_known || rows < 1)
		return unknown_cost;
	return scan->plan.total_cost * (1 - Min(scan->plan.plan_rows / rows, 1));
}

static double
passing_cost_of_all(const List *plans, const List *range_table)
{
	double cost = 0;
	ListCell *cell;
	foreach (cell, plans)
		cost += passing_cost(static_cast<Plan *>(lfirst(cell)), range_table);
	return cost;
}

double
passing_cost(const Plan *plan, const List *range_table)
{
	switch (nodeTag(plan)) {
		case T_Limit:
		case T_LockRows:
			return passing_cost(plan->lefttree, range_table);
		case T_Append:
			return passing_cost_of_all(reinterpret_cast<const Append *>(plan)->appendplans,
									   range_table);
		case T_MergeAppend:
			return passing_cost_of_all(reinterpret_cast<const MergeAppend *>(plan)->mergeplans,
									   range_table);
		case T_IndexScan:
			return passing_cost_of_scan(reinterpret_cast<const Scan *>(plan), range_table);
		default:
			return unknown_cost;
	}
}

// With the scan's table as number 1.
static List *
over_table(const List *conditions, Index number)
{
	auto *copy = static_cast<List *>(copyObjectImpl(conditions));
	ChangeVarNodes(reinterpret_cast<Node *>(copy), static_cast<int>(number), 1, 0);
	return copy;
}

// Whether the condition of an index is on that column (from 1); if so, whether it names one value.
static bool
is_on_column(Node *condition, Relation index, int column, bool *names_value)
{
	const List *arguments = NIL;
	Oid operator_oid = InvalidOid;
	if (IsA(condition, OpExpr)) {
		arguments = reinterpret_cast<OpExpr *>(condition)->args;
		operator_oid = reinterpret_cast<OpExpr *>(condition)->opno;
	} else if (IsA(condition, ScalarArrayOpExpr)) {
		arguments = reinterpret_cast<ScalarArrayOpExpr *>(condition)->args;
		operator_oid = reinterpret_cast<ScalarArrayOpExpr *>(condition)->opno;
	} else if (IsA(condition, NullTest)) {
		arguments = list_make1(reinterpret_cast<NullTest *>(condition)->arg);
	} else if (IsA(condition, RowCompareExpr)) {
		arguments = reinterpret_cast<RowCompareExpr *>(condition)->largs;
	}
	if (arguments == NIL || !IsA(linitial(arguments), Var) ||
		linitial_node(Var, arguments)->varattno != column)
		return false;
	if (OidIsValid(operator_oid))
		*names_value |= get_op_opfamily_strategy(operator_oid, index->rd_opfamily[column - 1]) ==
						BTEqualStrategyNumber;
	else
		*names_value |= IsA(condition, NullTest) &&
						reinterpret_cast<NullTest *>(condition)->nulltesttype == IS_NULL;
	return true;
}

// Adds the scan's conditions to those that lead to a part of the index, which are on its first
// columns, and to those that are checked in each entry.
static void
add_conditions(IndexRead *read, const IndexScan *scan, const List *over_rows, Relation index)
{
	Bitmapset *leading = nullptr;
	bool names_value = true;
	for (int column = 1; names_value && column <= index->rd_index->indnkeyatts; column++) {
		names_value = false;
		for (int i = 0; i < list_length(scan->indexqual); i++)
			if (is_on_column(static_cast<Node *>(list_nth(scan->indexqual, i)), index, column,
							 &names_value))
				leading = bms_add_member(leading, i);
	}
	for (int i = 0; i < list_length(over_rows); i++) {
		List **list = bms_is_member(i, leading) ? &read->leads : &read->leaves;
		*list = lappend(*list, list_nth(over_rows, i));
	}
}

static IndexRead *
index_read_of(const IndexScan *scan, const List *range_table)
{
	auto *read = static_cast<IndexRead *>(palloc0(sizeof(IndexRead)));
	const Index number = scan->scan.scanrelid;
	read->table = list_nth_node(RangeTblEntry, range_table, number - 1)->relid;
	read->index = scan->indexid;
	read->leaves = over_table(scan->scan.plan.qual, number);
	Relation index = index_open(scan->indexid, AccessShareLock);
	read->leads = list_copy(RelationGetIndexPredicate(index));
	add_conditions(read, scan, over_table(scan->indexqualorig, number), index);
	index_close(index, AccessShareLock);
	return read;
}

static void add_reads(const Plan *plan, const List *range_table, List **reads);

static void
add_all_reads(const List *plans, const List *range_table, List **reads)
{
	ListCell *cell;
	foreach (cell, plans)
		add_reads(static_cast<Plan *>(lfirst(cell)), range_table, reads);
}

// Goes down the plan as judge() does, as far as that keeps the order.
static void
add_reads(const Plan *plan, const List *range_table, List **reads)
{
	if (plan == nullptr)
		return;
	switch (nodeTag(plan)) {
		case T_IndexScan:
			*reads = lappend(*reads,
							 index_read_of(reinterpret_cast<const IndexScan *>(plan), range_table));
			break;
		case T_Append:
			add_all_reads(reinterpret_cast<const Append *>(plan)->appendplans, range_table, reads);
			break;
		case T_MergeAppend:
			add_all_reads(reinterpret_cast<const MergeAppend *>(plan)->mergeplans, range_table,
						  reads);
			break;
		default:
			add_reads(plan->lefttree, range_table, reads);
	}
}

List *
index_reads_of(const Plan *plan, const List *range_table)
{
	List *reads = NIL;
	add_reads(plan, range_table, &reads);
	return reads;
}

} // namespace queue_ext::statement
