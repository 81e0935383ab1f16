// plain.cpp - see plain.hpp.

#include "../postgres.hpp"

#include "plain.hpp"

#include "../catalog/dependency.hpp"
#include "../compat.hpp"

namespace queue_ext::row {

// Whether the function is user-defined and not immutable, so that it might read what the statement
// of a claim would have changed, or its EXECUTE has been granted or revoked: then a prepared
// expression with it would not do for every caller. One of PostgreSQL's own is watched, since that
// may change; on the user's the caller must depend.
static bool
is_special_function(Oid function)
{
	if (function < FirstNormalObjectId)
		catalog::watch_function(function);
	else if (func_volatile(function) != PROVOLATILE_IMMUTABLE)
		return true;
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return true;
	const bool is_open_to_all = heap_attisnull(tuple, Anum_pg_proc_proacl, nullptr);
	ReleaseSysCache(tuple);
	return !is_open_to_all;
}

// For check_functions_in_node(); the context is where the words go.
static bool
note_special_function(Oid function, void *context)
{
	if (!is_special_function(function))
		return false;
	*static_cast<const char **>(context) =
		psprintf("function %s", format_procedure_qualified(function));
	return true;
}

// Tree walker; true stops it. The context is where the words go.
static bool
note_involved(Node *node, void *context)
{
	if (node == nullptr)
		return false;
	auto *words = static_cast<const char **>(context);
	if (IsA(node, SubLink))
		*words = "a sub-select";
	else if (IsA(node, CoerceToDomain))
		*words = psprintf("domain %s", format_type_be_qualified(
										   reinterpret_cast<CoerceToDomain *>(node)->resulttype));
	else if (IsA(node, SetToDefault))
		*words = "a default";
	else if (!check_functions_in_node(node, note_special_function, context))
		return compat::walk_tree(node, note_involved, context);
	return true;
}

// Watches the functions that it finds: a change of one makes what was prepared invalid.
const char *
find_involved(Node *expression)
{
	const char *words = nullptr;
	(void) note_involved(expression, &words);
	return words;
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

bool
has_heap(Relation table)
{
	return table->rd_rel->relkind == RELKIND_RELATION &&
		   table->rd_rel->relam == HEAP_TABLE_AM_OID &&
		   (!has_subclass(RelationGetRelid(table)) ||
			find_inheritance_children(RelationGetRelid(table), NoLock) == NIL);
}

// Each excludes something that the executor does around the write.
const char *
find_special(Relation table)
{
	const TupleConstr *constraints = RelationGetDescr(table)->constr;
	if (table->rd_rel->relispartition)
		return "the table is a partition";
	if (table->rd_rules != nullptr)
		return "the table has rules";
	if (constraints != nullptr && compat::has_generated(constraints))
		return "the table has generated columns";
	return nullptr;
}

bool
has_unstored(Relation table)
{
	const TupleConstr *constraints = RelationGetDescr(table)->constr;
	return constraints != nullptr && compat::has_virtual(constraints);
}

bool
is_plain(Relation table)
{
	return has_heap(table) && find_special(table) == nullptr && !table->rd_rel->relrowsecurity;
}

// ExecInitExpr() allocates room for sixteen steps, and most expressions have three. A queue has some twenty of them, as long
// as its definition lives.
static void
trim(ExprState *state)
{
	const Size size = sizeof(ExprEvalStep) * state->steps_len;
	auto *steps = static_cast<ExprEvalStep *>(palloc(size));
	memcpy(steps, state->steps, size);
	pfree(state->steps); // its place is taken by those of the next expression
	state->steps = steps;
	state->steps_alloc = state->steps_len;
}

// Calls make(expression) with the planned expression and the given context current; returns null if
// the expression is involved. The result is in the context given.
template <typename Make>
static ExprState *
prepare(Node *expression, MemoryContext context, Make &&make)
{
	if (find_involved(expression) != nullptr)
		return nullptr;
	auto *copy = static_cast<Expr *>(copyObjectImpl(expression));
	const Expr *planned = expression_planner(copy);
	MemoryContext old = MemoryContextSwitchTo(context);
	ExprState *state = make(static_cast<Expr *>(copyObjectImpl(planned)));
	trim(state);
	MemoryContextSwitchTo(old);
	return state;
}

TupleDesc
copy_columns(Relation table)
{
	return CreateTupleDescCopyConstr(RelationGetDescr(table));
}

// ExecInitExpr() without a parent plan, as the executor does for a standalone expression.
ExprState *
prepare_expression(Node *expression, MemoryContext context)
{
	return prepare(expression, context,
				   [](Expr *planned) { return ExecInitExpr(planned, nullptr); });
}

// Never empty: for an empty list the executor's functions return null, which means involved here.
static List *
conjuncts_of(Expr *condition)
{
	List *conjuncts = make_ands_implicit(condition);
	return conjuncts != NIL ? conjuncts : list_make1(condition);
}

// ExecInitQual() takes null for false, as WHERE does.
ExprState *
prepare_condition(Node *expression, MemoryContext context)
{
	return prepare(expression, context,
				   [](Expr *planned) { return ExecInitQual(conjuncts_of(planned), nullptr); });
}

// ExecInitCheck() takes null for true, as CHECK does.
bool
prepare_checks(Relation table, Checks *checks, MemoryContext context)
{
	const TupleConstr *constraints = copy_columns(table)->constr;
	*checks = {};
	if (constraints == nullptr || constraints->num_check == 0)
		return true;
	checks->states = static_cast<ExprState **>(
		MemoryContextAllocZero(context, sizeof(ExprState *) * constraints->num_check));
	for (int i = 0; i < constraints->num_check; i++) {
		auto *expression = static_cast<Node *>(stringToNode(constraints->check[i].ccbin));
		checks->states[i] = prepare(expression, context, [](Expr *planned) {
			return ExecInitCheck(conjuncts_of(planned), nullptr);
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
