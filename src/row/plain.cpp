// plain.cpp - see plain.hpp.

#include "../postgres.hpp"

#include "plain.hpp"

#include "../catalog/dependency.hpp"
#include "../compat.hpp"

namespace queue_ext::row {

// Whether the function is user-defined, or its EXECUTE has been granted or revoked: then a prepared
// expression with it would not do for every caller. A function of PostgreSQL's own is watched,
// since that may change.
static bool
is_special_function(Oid function, void *)
{
	if (function >= FirstNormalObjectId)
		return true;
	catalog::watch_function(function);
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return true;
	const bool is_open_to_all = heap_attisnull(tuple, Anum_pg_proc_proacl, nullptr);
	ReleaseSysCache(tuple);
	return !is_open_to_all;
}

// Tree walker; true stops it.
static bool
has_involved(Node *node, void *context)
{
	if (node == nullptr)
		return false;
	if (IsA(node, SubLink) || IsA(node, CoerceToDomain) || IsA(node, SetToDefault))
		return true;
	if (check_functions_in_node(node, is_special_function, nullptr))
		return true;
	return compat::walk_tree(node, has_involved, context);
}

// Watches the functions that it finds: a change of one makes what was prepared invalid.
bool
is_involved(Node *expression)
{
	return has_involved(expression, nullptr);
}

// Disabled triggers count, too: the table's flags do not tell them apart.
bool
has_update_triggers(Relation table)
{
	const TriggerDesc *triggers = table->trigdesc;
	return triggers != nullptr &&
		   (triggers->trig_update_before_row || triggers->trig_update_after_row ||
			triggers->trig_update_instead_row || triggers->trig_update_before_statement ||
			triggers->trig_update_after_statement);
}

// Each term excludes something that the executor does around the write.
bool
is_plain(Relation table)
{
	const TupleConstr *constraints = RelationGetDescr(table)->constr;
	return table->rd_rel->relkind == RELKIND_RELATION &&
		   table->rd_rel->relam == HEAP_TABLE_AM_OID && !table->rd_rel->relispartition &&
		   !has_subclass(RelationGetRelid(table)) && !table->rd_rel->relrowsecurity &&
		   table->rd_rules == nullptr &&
		   (constraints == nullptr || !compat::has_generated(constraints));
}

// Calls make(expression) with the planned expression and the given context current; returns null if
// the expression is involved. The result is in the context given.
template <typename Make>
static ExprState *
prepare(Node *expression, MemoryContext context, Make &&make)
{
	if (is_involved(expression))
		return nullptr;
	auto *copy = static_cast<Expr *>(copyObjectImpl(expression));
	const Expr *planned = expression_planner(copy);
	MemoryContext old = MemoryContextSwitchTo(context);
	ExprState *state = make(static_cast<Expr *>(copyObjectImpl(planned)));
	MemoryContextSwitchTo(old);
	return state;
}

// ExecInitExpr() without a parent plan, as the executor does for a standalone expression.
ExprState *
prepare_expression(Node *expression, MemoryContext context)
{
	return prepare(expression, context,
				   [](Expr *planned) { return ExecInitExpr(planned, nullptr); });
}

// ExecInitQual() takes null for false, as WHERE does.
ExprState *
prepare_condition(Node *expression, MemoryContext context)
{
	return prepare(expression, context, [](Expr *planned) {
		return ExecInitQual(make_ands_implicit(planned), nullptr);
	});
}

// ExecInitCheck() takes null for true, as CHECK does.
bool
prepare_checks(TupleDesc descriptor, Checks *checks, MemoryContext context)
{
	const TupleConstr *constraints = descriptor->constr;
	*checks = {};
	if (constraints == nullptr || constraints->num_check == 0)
		return true;
	checks->states = static_cast<ExprState **>(
		MemoryContextAllocZero(context, sizeof(ExprState *) * constraints->num_check));
	for (int i = 0; i < constraints->num_check; i++) {
		auto *expression = static_cast<Node *>(stringToNode(constraints->check[i].ccbin));
		checks->states[i] = prepare(expression, context, [](Expr *planned) {
			return ExecInitCheck(make_ands_implicit(planned), nullptr);
		});
		if (checks->states[i] == nullptr)
			return false;
		checks->count++;
	}
	return true;
}

// Runs user-defined code where a cast or an output function calls it; see use.hpp.
bool
satisfies(const Checks &checks, TupleTableSlot *row, ExprContext *context)
{
	context->ecxt_scantuple = row;
	for (int i = 0; i < checks.count; i++)
		if (!ExecCheck(checks.states[i], context))
			return false;
	return true;
}

} // namespace queue_ext::row
