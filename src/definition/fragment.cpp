// fragment.cpp - see fragment.hpp.

#include "../postgres.hpp"

#include "fragment.hpp"

#include "../compat.hpp"
#include "../error.hpp"
#include "../statement/qualify.hpp"
#include "../statement/search_path.hpp"
#include "../statement/statement.hpp"

namespace queue_ext::definition {

using statement::Parameter;

// Error context callback: adds the fragment's name, and the position within the fragment instead of
// that in the statement that was parsed.
static void
add_context(void *argument)
{
	const auto *fragment = static_cast<const Fragment *>(argument);
	const int position = geterrposition();
	if (position > 0) {
		errposition(0);
		internalerrposition(position - static_cast<int>(strlen(statement_before(fragment->kind))));
		internalerrquery(fragment->text);
	}
	if (fragment->queue != nullptr)
		errcontext("\"%s\" of queue \"%s\"", fragment->label, fragment->queue);
	else
		errcontext("\"%s\"", fragment->label);
}

namespace {

// A variable of the call.
struct Variable
{
	const char *name;
	Parameter parameter;
	Oid type;
	bool is_of_queue; // whether it is in that scope
	bool is_of_repair;
};

} // namespace

// What a fragment can name besides columns; each is a parameter of the statement (statement/statement.hpp), but
// for state, which bind_state() replaces.
static constexpr Variable variables[] = {
	{"call_time", Parameter::call_time, TIMESTAMPTZOID, true, true},
	{"lease", Parameter::lease, INTERVALOID, true, false},
	{"worker", Parameter::worker, TEXTOID, true, false},
	{"error", Parameter::error, TEXTOID, true, false},
	{"retry_at", Parameter::retry_at, TIMESTAMPTZOID, true, false},
	{"retry", Parameter::retry, BOOLOID, true, false},
	{"new_progress", Parameter::new_progress, JSONBOID, true, false},
	{"state", Parameter::state, TEXTOID, false, true},
	{"arguments", Parameter::arguments, JSONBOID, false, true},
};

static bool
is_in(const Variable &variable, Scope scope)
{
	return scope == Scope::queue ? variable.is_of_queue : variable.is_of_repair;
}

// The variable of that name as a Param; null if there is none.
static Node *
make_variable(const ParseState *state, const char *name, int location)
{
	const Scope scope = static_cast<const Fragment *>(state->p_ref_hook_state)->scope;
	for (const Variable &variable : variables) {
		if (!is_in(variable, scope) || strcmp(name, variable.name) != 0)
			continue;
		Param *parameter = makeNode(Param);
		parameter->paramkind = PARAM_EXTERN;
		parameter->paramid = static_cast<int>(variable.parameter) + 1;
		parameter->paramtype = variable.type;
		parameter->paramtypmod = -1;
		parameter->paramcollid = get_typcollation(variable.type);
		parameter->location = location;
		return reinterpret_cast<Node *>(parameter);
	}
	return nullptr;
}

// The other kind of field is "*".
static bool
is_name(const Node *field)
{
	return IsA(field, String);
}

// "call.error" is the variable, even if the table has a column "error".
static Node *
find_qualified_variable(ParseState *state, ColumnRef *reference)
{
	const List *fields = reference->fields;
	if (list_length(fields) != 2 || !is_name(static_cast<Node *>(lsecond(fields))) ||
		strcmp(strVal(linitial(fields)), "call") != 0)
		return nullptr;
	return make_variable(state, strVal(lsecond(fields)), reference->location);
}

// Hook for columns: the variable comes before a column of the same name.
static Node *
find_variable(ParseState *state, ColumnRef *reference)
{
	const List *fields = reference->fields;
	if (list_length(fields) != 1 || !is_name(static_cast<Node *>(linitial(fields))))
		return find_qualified_variable(state, reference);
	return make_variable(state, strVal(linitial(fields)), reference->location);
}

// Hook for columns that comes after their lookup: a name that is no column may be a variable.
static Node *
find_variable_last(ParseState *state, ColumnRef *reference, Node *column)
{
	return column == nullptr ? find_variable(state, reference) : nullptr;
}

// The namespace has only the table, which is also the target of assignments.
static ParseState *
make_parse_state(const Fragment &fragment, Relation table)
{
	ParseState *state = make_parsestate(nullptr);
	state->p_sourcetext = text_of(fragment);
	state->p_ref_hook_state = const_cast<Fragment *>(&fragment);
	state->p_pre_columnref_hook =
		fragment.variables_first ? find_variable : find_qualified_variable;
	if (!fragment.variables_first)
		state->p_post_columnref_hook = find_variable_last;
	ParseNamespaceItem *item =
		addRangeTableEntryForRelation(state, table, AccessShareLock, nullptr, true, true);
	addNSItemToQuery(state, item, true, true, true);
	state->p_target_relation = table;
	state->p_target_nsitem = item;
	return state;
}

// Deparses an expression over the table, whose columns get the alias t.
static char *
write_out(Node *expression, Relation table)
{
	return deparse_expression(expression, deparse_context_for("t", RelationGetRelid(table)), true,
							  false);
}

// Without forceprefix the deparser leaves out the alias of the only table.
char *
write_out_bare(Node *expression, Oid table)
{
	char *text = nullptr;
	statement::with_search_path(statement::bare_search_path, [&] {
		text = deparse_expression(expression, deparse_context_for("t", table), false, false);
	});
	return text;
}

// Deparses under pg_catalog alone, so that all other names get their schemas.
static CompiledFragment
compile_condition(const Fragment &fragment, const List *list, ParseState *state, Relation table)
{
	CompiledFragment compiled{};
	Node *expression = transformWhereClause(state, linitial_node(ResTarget, list)->val,
											EXPR_KIND_WHERE, fragment.label);
	assign_expr_collations(state, expression);
	statement::with_search_path(statement::bare_search_path,
								[&] { compiled.text = write_out(expression, table); });
	compiled.expression = expression;
	compiled.conjuncts = make_ands_implicit(reinterpret_cast<Expr *>(expression));
	return compiled;
}

// Tree walker: true for what an index cannot have: variables, sub-selects, whole rows, system
// columns.
static bool
is_not_of_row(Node *node, void *context)
{
	if (node == nullptr)
		return false;
	if (IsA(node, Param) || IsA(node, SubLink))
		return true;
	if (IsA(node, Var) && reinterpret_cast<Var *>(node)->varattno <= 0)
		return true;
	return compat::walk_tree(node, is_not_of_row, context);
}

// Mutable functions could make an index entry stale.
static bool
depends_on_row_alone(Node *expression)
{
	return !is_not_of_row(expression, nullptr) && !contain_mutable_functions(expression);
}

// Tree walker: true for the parameter of the context.
static bool
is_parameter(Node *node, void *context)
{
	if (node == nullptr)
		return false;
	if (IsA(node, Param))
		return reinterpret_cast<Param *>(node)->paramid == *static_cast<int *>(context);
	if (IsA(node, Query))
		return compat::walk_query(reinterpret_cast<Query *>(node), is_parameter, context);
	return compat::walk_tree(node, is_parameter, context);
}

bool
reads_variable(Node *expression, Parameter parameter)
{
	int number = static_cast<int>(parameter) + 1;
	return is_parameter(expression, &number);
}

bool
can_be_predicate(Node *conjunct)
{
	return depends_on_row_alone(conjunct) && contain_var_clause(conjunct);
}

// A column of an index must have a default B-tree operator class.
static bool
can_be_indexed(Node *expression)
{
	return depends_on_row_alone(expression) && contain_var_clause(expression) &&
		   exprType(expression) != RECORDOID &&
		   OidIsValid(GetDefaultOpClass(exprType(expression), BTREE_AM_OID));
}

static const char *
direction_text(const SortBy *sort)
{
	return sort->sortby_dir == SORTBY_DESC ? " desc" : "";
}

static const char *
nulls_text(const SortBy *sort)
{
	switch (sort->sortby_nulls) {
		case SORTBY_NULLS_FIRST:
			return " nulls first";
		case SORTBY_NULLS_LAST:
			return " nulls last";
		case SORTBY_NULLS_DEFAULT:
			return "";
	}
	pg_unreachable();
}

// Adds a column to the order, if the expression is one.
static void
add_order_column(CompiledFragment *compiled, Node *expression, const SortBy *sort,
				 TupleDesc descriptor)
{
	const auto *column = IsA(expression, Var) ? reinterpret_cast<Var *>(expression) : nullptr;
	if (column != nullptr && column->varattno > 0 && column->vartype < FirstNormalObjectId &&
		compat::is_not_null(descriptor, column->varattno - 1))
		compiled->order_columns[compiled->order_count++] = {column->varattno,
															sort->sortby_dir == SORTBY_DESC};
}

// Raises 42803 for a set-returning function, too, which ORDER BY of a query would allow.
static CompiledFragment
compile_order(const Fragment &fragment, List *list, ParseState *state, Relation table)
{
	StringInfoData text;
	StringInfoData bare;
	initStringInfo(&text);
	initStringInfo(&bare);
	bool is_indexable = true;
	CompiledFragment compiled{};
	compiled.order_columns =
		static_cast<OrderColumn *>(palloc(sizeof(OrderColumn) * list_length(list)));
	ListCell *cell;
	foreach (cell, list) {
		const auto *sort = lfirst_node(SortBy, cell);
		if (sort->sortby_dir == SORTBY_USING || IsA(sort->node, A_Const))
			error::not_an_order(fragment.label);
		Node *expression = transformExpr(state, sort->node, EXPR_KIND_ORDER_BY);
		assign_expr_collations(state, expression);
		// In a condition or an assignment the parser refuses these itself.
		if (state->p_hasAggs || state->p_hasWindowFuncs || state->p_hasTargetSRFs)
			error::fragment_is_not_scalar(fragment.label);
		get_sort_group_operators(exprType(expression), true, false, false, nullptr, nullptr,
								 nullptr, nullptr); // or no order: raises
		compiled.order = lappend(compiled.order, expression);
		is_indexable = is_indexable && can_be_indexed(expression);
		statement::with_search_path(statement::bare_search_path, [&] {
			appendStringInfo(&text, "%s%s%s%s", text.len > 0 ? ", " : "",
							 write_out(expression, table), direction_text(sort), nulls_text(sort));
		});
		appendStringInfo(&bare, IsA(expression, Var) ? "%s%s%s%s" : "%s(%s)%s%s",
						 bare.len > 0 ? ", " : "",
						 write_out_bare(expression, RelationGetRelid(table)), direction_text(sort),
						 nulls_text(sort));
		add_order_column(&compiled, expression, sort, RelationGetDescr(table));
	}
	if (compiled.order_count != list_length(list))
		compiled.order_count = 0;
	compiled.text = text.data;
	compiled.bare_text = is_indexable ? bare.data : nullptr;
	return compiled;
}

// Raises for targets that an UPDATE refuses only in the rewriter, and for those that cannot be
// written out one by one.
static void
check_targets(const Fragment &fragment, const List *list, Relation table)
{
	ListCell *cell;
	foreach (cell, list) {
		const auto *target = lfirst_node(ResTarget, cell);
		if (target->indirection != NIL || IsA(target->val, MultiAssignRef))
			error::not_assignments(fragment.label);
		const AttrNumber number = get_attnum(RelationGetRelid(table), target->name);
		for (const ListCell *earlier = list_head(list); earlier != cell; earlier++)
			if (strcmp(lfirst_node(ResTarget, earlier)->name, target->name) == 0)
				error::assigned_twice(target->name);
		if (number > 0) {
			const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(table), number - 1);
			if (attribute->attgenerated != '\0')
				error::assigned_generated(target->name);
			if (attribute->attidentity == ATTRIBUTE_IDENTITY_ALWAYS)
				error::assigned_identity(target->name);
		}
	}
}

// transformUpdateTargetList() checks that the columns exist, and coerces to their types.
static CompiledFragment
compile_assignments(const Fragment &fragment, List *list, ParseState *state, Relation table)
{
	CompiledFragment compiled{};
	check_targets(fragment, list, table);
	List *targets = transformUpdateTargetList(state, list);
	assign_list_collations(state, targets);

	StringInfoData text;
	initStringInfo(&text);
	statement::with_search_path(statement::bare_search_path, [&] {
		ListCell *cell;
		foreach (cell, targets) {
			const auto *target = lfirst_node(TargetEntry, cell);
			appendStringInfo(&text, "%s%s = %s", text.len > 0 ? ", " : "",
							 quote_identifier(target->resname),
							 write_out(reinterpret_cast<Node *>(target->expr), table));
		}
	});
	compiled.text = text.data;
	compiled.targets = targets;
	return compiled;
}

// The context callback is removed by hand on success; on ERROR the handler restores the stack.
CompiledFragment
compile(const Fragment &fragment, Relation table, const char *search_path)
{
	ErrorContextCallback callback{};
	callback.callback = add_context;
	callback.arg = const_cast<Fragment *>(&fragment);
	callback.previous = error_context_stack;
	error_context_stack = &callback;

	const int level = NewGUCNestLevel();
	statement::set_reading_settings(search_path);
	List *list = parse(fragment);
	ParseState *state = make_parse_state(fragment, table);
	CompiledFragment compiled{};
	switch (fragment.kind) {
		case FragmentKind::condition:
			compiled = compile_condition(fragment, list, state, table);
			break;
		case FragmentKind::order:
			compiled = compile_order(fragment, list, state, table);
			break;
		case FragmentKind::assignments:
			compiled = compile_assignments(fragment, list, state, table);
			break;
	}
	compiled.text = statement::qualify(compiled.text, statement_before(fragment.kind));
	state->p_target_relation = nullptr; // or it would be closed
	free_parsestate(state);
	AtEOXact_GUC(true, level);
	error_context_stack = callback.previous;
	return compiled;
}

// Parses under bare_search_path, since the settings change what a literal means.
static char *
bind(const char *compiled, FragmentKind kind, const statement::Replacement *replacements, int count)
{
	char *bound = nullptr;
	statement::with_search_path(statement::bare_search_path, [&] {
		bound = replace_parameters(compiled, statement_before(kind), replacements, count);
	});
	return bound;
}

char *
bind_rows(const char *compiled, FragmentKind kind, const RowVariables &variables)
{
	const statement::Replacement replacements[] = {
		{static_cast<int>(Parameter::error) + 1, variables.error},
		{static_cast<int>(Parameter::retry_at) + 1, variables.retry_at},
		{static_cast<int>(Parameter::new_progress) + 1, variables.new_progress},
	};
	return bind(compiled, kind, replacements, lengthof(replacements));
}

char *
bind_state(const char *compiled, const char *state)
{
	const statement::Replacement replacement{static_cast<int>(Parameter::state) + 1, state};
	return bind(compiled, FragmentKind::condition, &replacement, 1);
}

} // namespace queue_ext::definition
