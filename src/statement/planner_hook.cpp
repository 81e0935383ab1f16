// planner_hook.cpp - see planner_hook.hpp.

#include "../postgres.hpp"

#include "planner_hook.hpp"

#include "../compat.hpp"

namespace queue_ext::statement {

namespace {

// An index hidden from queries of this kind.
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

// How many statements are being planned, one within the other, and how many were when begin_hiding()
// was called; -1: it was not. What functions run that the planner evaluates is planned as usual:
// PL/pgSQL keeps those plans.
static int depth = 0;
static int hiding_depth = -1;

// How the statement should find its rows whose plan is being made.
static Access planned = Access::by_key;

// The only partition or child to plan for, or InvalidOid.
static Oid planned_leaf = InvalidOid;

bool
is_by_row_key(CmdType command)
{
	return planned == Access::by_row_key ||
		   (planned != Access::by_key && planned != Access::by_values &&
			planned != Access::by_tid && command == CMD_UPDATE);
}

static bool
is_hidden(Oid index, CmdType command)
{
	for (int i = hidden_first; i < hidden_count; i++)
		if (hidden[i].index == index && hidden[i].command == command)
			return true;
	return false;
}

bool
hide(Oid index, CmdType command)
{
	if (hidden_count == max_hidden)
		return false;
	hidden[hidden_count++] = {index, command};
	return true;
}

// Whether the relation, or its parent, is the first of its query, with the alias t.
static bool
is_called_t(const PlannerInfo *root, const RelOptInfo *relation)
{
	constexpr int first = 1;
	const bool is_child = relation->reloptkind == RELOPT_OTHER_MEMBER_REL;
	const int index = is_child ? bms_singleton_member(relation->top_parent_relids)
							   : static_cast<int>(relation->relid);
	return index == first && strcmp(root->simple_rte_array[first]->eref->aliasname, "t") == 0;
}

// Whether the relation is the queue's table where a statement names it, or a child of that: the
// first relation of the statement, or of the CTE that locks the rows, with the alias t. Sub-selects
// of policies and views may use the alias, too, and may be pulled up into the statement.
static bool
is_queues_table(const PlannerInfo *root, const RelOptInfo *relation)
{
	return is_called_t(root, relation) &&
		   (root->parent_root == nullptr || root->parse->rowMarks != NIL);
}

// Removes the hidden indexes from the list of the queue's table, for this planning only. A sub-select
// that reads the table, too, may need them.
static void
hide_indexes(const PlannerInfo *root, RelOptInfo *relation)
{
	if (hidden_count == hidden_first || !is_queues_table(root, relation))
		return;
	List *visible = NIL;
	ListCell *cell;
	foreach (cell, relation->indexlist)
		if (!is_hidden(static_cast<IndexOptInfo *>(lfirst(cell))->indexoid,
					   root->parse->commandType))
			visible = lappend(visible, lfirst(cell));
	relation->indexlist = visible;
}

static bool
begins_with_kind(const IndexOptInfo *index, Oid table)
{
	const char *column =
		index->indexkeys[0] > 0
			? get_attname(table, static_cast<AttrNumber>(index->indexkeys[0]), true)
			: nullptr;
	return column != nullptr && strcmp(column, "kind") == 0;
}

// Leaves only the indexes that begin with the kind, if there are any: by the planner's estimates
// another may cost as little, but it leads to jobs of all kinds.
static void
show_kinds(const PlannerInfo *root, RelOptInfo *relation)
{
	if (root->parse->commandType != CMD_SELECT || !is_called_t(root, relation))
		return;
	const Oid table = root->simple_rte_array[relation->relid]->relid;
	List *visible = NIL;
	ListCell *cell;
	foreach (cell, relation->indexlist) {
		auto *index = static_cast<IndexOptInfo *>(lfirst(cell));
		if (begins_with_kind(index, table))
			visible = lappend(visible, index);
	}
	if (visible != NIL)
		relation->indexlist = visible;
}

// Where the planner believes that the table is empty, reading all of it costs no more than finding
// a row by its key, or by values.
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

// Leaves no way to the rows but their TIDs, and of the children only the one that is wanted: the
// others are as if their partition bounds had excluded them.
static void
show_tids(const PlannerInfo *root, RelOptInfo *relation)
{
	relation->indexlist = NIL;
	const RangeTblEntry *entry = root->simple_rte_array[relation->relid];
	if (OidIsValid(planned_leaf) && relation->reloptkind == RELOPT_OTHER_MEMBER_REL &&
		entry->relkind != RELKIND_PARTITIONED_TABLE && entry->relid != planned_leaf)
		mark_dummy_rel(relation);
}

// The planner hook.
static void
visit_relation(const PlannerInfo *root, RelOptInfo *relation)
{
	if (hiding_depth < 0 || depth != hiding_depth + 1)
		return;
	if (planned == Access::by_tid) {
		if (is_queues_table(root, relation))
			show_tids(root, relation);
		return;
	}
	hide_indexes(root, relation);
	if (planned == Access::by_kind)
		show_kinds(root, relation);
	if (planned == Access::by_values ? is_queues_table(root, relation)
									 : is_by_row_key(root->parse->commandType))
		assume_many_rows(relation);
}

static void
begin_planning()
{
	depth++;
}

static void
end_planning()
{
	depth--;
}

void
register_planner_hook()
{
	compat::set_planner_hook(begin_planning, end_planning);
	compat::register_relation_hook(visit_relation);
}

Outer
begin_hiding(Access access, Oid leaf)
{
	const Outer outer{hidden_first, hiding_depth, planned, planned_leaf};
	hidden_first = hidden_count;
	planned = access;
	planned_leaf = leaf;
	hiding_depth = depth;
	return outer;
}

void
end_hiding(const Outer &outer)
{
	hidden_count = hidden_first;
	hidden_first = outer.first;
	planned = outer.planned;
	planned_leaf = outer.leaf;
	hiding_depth = outer.depth;
}

int
hidden_indexes()
{
	return hidden_count - hidden_first;
}

void
show_again(int hidden_before)
{
	hidden_count = hidden_first + hidden_before;
}

} // namespace queue_ext::statement
