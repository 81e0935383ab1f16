// caller.cpp - see caller.hpp.

#include "../postgres.hpp"

#include "caller.hpp"

#include "../catalog/named_dependency.hpp"
#include "../compat.hpp"
#include "../statement/statement.hpp"
#include "pending_clock.hpp"

namespace queue_ext::claim {

using definition::Definition;
using statement::Parameter;

// PostgreSQL's own functions whose results depend on the role, or on the session. Those with a user
// among their arguments are taken for the others, which harms nothing.
static constexpr const char *role_functions[] = {
	"pg_has_role",
	"row_security_active",
	"has_any_column_privilege",
	"has_column_privilege",
	"has_database_privilege",
	"has_foreign_data_wrapper_privilege",
	"has_function_privilege",
	"has_language_privilege",
	"has_largeobject_privilege",
	"has_parameter_privilege",
	"has_schema_privilege",
	"has_sequence_privilege",
	"has_server_privilege",
	"has_table_privilege",
	"has_tablespace_privilege",
	"has_type_privilege",
	"current_schema",
	"current_schemas",
	"current_user",
	"getpgusername",
};
static constexpr const char *session_functions[] = {
	"pg_backend_pid",          "inet_client_addr", "inet_client_port", "inet_server_addr",
	"inet_server_port",        "currval",          "lastval",          "pg_my_temp_schema",
	"pg_is_other_temp_schema", "system_user",      "session_user",
};

// Those of the clock alone, and so of no caller.
static constexpr const char *clock_functions[] = {
	"now", "transaction_timestamp", "statement_timestamp", "clock_timestamp", "timeofday",
};

namespace {

// The state of a walk through expressions.
struct Walk
{
	CallerUse *use;
	Definition *definition;
	List *tables; // whose policies have been added
};

} // namespace

template <size_t count>
static bool
is_among(const char *name, const char *const (&names)[count])
{
	for (const char *other : names)
		if (strcmp(name, other) == 0)
			return true;
	return false;
}

// For check_functions_in_node().
static bool
add_function(Oid function, void *context)
{
	CallerUse *use = static_cast<Walk *>(context)->use;
	if (func_volatile(function) == PROVOLATILE_IMMUTABLE)
		return false;
	if (function >= FirstNormalObjectId) {
		if (use->opaque == nullptr)
			use->opaque = psprintf("function %s", format_procedure_qualified(function));
		return false;
	}
	const char *name = get_func_name(function);
	if (name == nullptr || is_among(name, clock_functions))
		return false;
	use->role |= is_among(name, role_functions);
	use->session |= is_among(name, session_functions);
	use->formats = true;
	return false;
}

// current_setting() of a constant name is its value; of another name it could be any.
static void
add_setting(CallerUse *use, const FuncExpr *call)
{
	const auto *name = static_cast<Node *>(linitial(call->args));
	if (!IsA(name, Const))
		use->opaque = "current_setting() of a name that is not constant";
	else if (!reinterpret_cast<const Const *>(name)->constisnull)
		use->settings = lappend(
			use->settings, TextDatumGetCString(reinterpret_cast<const Const *>(name)->constvalue));
}

static void
add_value_function(CallerUse *use, const SQLValueFunction *function)
{
	switch (function->op) {
		case SVFOP_CURRENT_ROLE:
		case SVFOP_CURRENT_USER:
		case SVFOP_USER:
		case SVFOP_CURRENT_SCHEMA:
			use->role = true;
			break;
		case SVFOP_SESSION_USER:
			use->session = true;
			break;
		default:
			break;
	}
	use->formats = true; // CURRENT_DATE is the time zone's
}

static void
add_parameter(CallerUse *use, const Param *parameter)
{
	const int index = parameter->paramid - 1;
	use->worker |= index == static_cast<int>(Parameter::worker);
	use->lease |= index == static_cast<int>(Parameter::lease);
}

static bool add_node(Node *node, void *context);

// Adds what the rows that the table shows depend on: its policies. A view is a query of its own, which
// may ask for anything.
static void
add_table(Walk *walk, Oid table)
{
	if (list_member_oid(walk->tables, table))
		return;
	walk->tables = lappend_oid(walk->tables, table);
	Relation relation = try_relation_open(table, AccessShareLock);
	if (relation == nullptr)
		return;
	if (relation->rd_rel->relkind == RELKIND_VIEW && walk->use->opaque == nullptr)
		walk->use->opaque = psprintf("view %s", RelationGetRelationName(relation));
	List *policies =
		relation->rd_rel->relrowsecurity ? flat_policies(walk->definition, relation) : NIL;
	relation_close(relation, NoLock);
	ListCell *cell;
	foreach (cell, policies)
		(void) add_node(static_cast<Node *>(lfirst(cell)), walk);
}

// Adds the tables of a sub-select. The role decides which policies apply.
static void
add_tables(Walk *walk, const Query *query)
{
	walk->use->role = true;
	ListCell *cell;
	foreach (cell, query->rtable) {
		const auto *entry = lfirst_node(RangeTblEntry, cell);
		if (entry->rtekind == RTE_RELATION)
			add_table(walk, entry->relid);
	}
}

// Tree walker, also of the queries of sub-selects; never stops.
static bool
add_node(Node *node, void *context)
{
	if (node == nullptr)
		return false;
	check_stack_depth();
	auto *walk = static_cast<Walk *>(context);
	if (IsA(node, Query)) {
		add_tables(walk, reinterpret_cast<Query *>(node));
		return compat::walk_query(reinterpret_cast<Query *>(node), add_node, context);
	}
	if (IsA(node, SQLValueFunction))
		add_value_function(walk->use, reinterpret_cast<SQLValueFunction *>(node));
	else if (IsA(node, Param))
		add_parameter(walk->use, reinterpret_cast<Param *>(node));
	else if (IsA(node, FuncExpr) &&
			 (reinterpret_cast<FuncExpr *>(node)->funcid == F_CURRENT_SETTING_TEXT ||
			  reinterpret_cast<FuncExpr *>(node)->funcid == F_CURRENT_SETTING_TEXT_BOOL))
		add_setting(walk->use, reinterpret_cast<FuncExpr *>(node));
	else if (!is_exact_shift(node))
		(void) check_functions_in_node(node, add_function, context);
	return compat::walk_tree(node, add_node, context);
}

// Not with expression_planner_with_deps(), which must not meet columns from PostgreSQL 18 on. So a
// function that is called by one that was put in place of its call is no dependency, and what was
// found out may be outdated when it changes: the candidates' order suffers then, and nothing else.
Node *
flatten(Definition *definition, Node *expression)
{
	auto *copy = static_cast<Expr *>(copyObjectImpl(expression));
	auto *flat = reinterpret_cast<Node *>(expression_planner(copy));
	catalog::depend_on_expression(&definition->dependent, expression);
	catalog::depend_on_expression(&definition->dependent, flat);
	return flat;
}

void
add_use(CallerUse *use, Definition *definition, Node *flat)
{
	Walk walk{use, definition, NIL};
	(void) add_node(flat, &walk);
}

// Copies the conditions first, as reading catalogs may process an invalidation that frees the
// relation's.
List *
flat_policies(Definition *definition, Relation table)
{
	List *conditions = NIL;
	ListCell *cell;
	foreach (cell, table->rd_rsdesc == nullptr ? NIL : table->rd_rsdesc->policies) {
		const auto *policy = static_cast<RowSecurityPolicy *>(lfirst(cell));
		const bool is_asked = policy->polcmd != ACL_INSERT_CHR && policy->polcmd != ACL_DELETE_CHR;
		if (is_asked && policy->qual != nullptr)
			conditions = lappend(conditions, copyObjectImpl(policy->qual));
	}
	foreach (cell, conditions)
		lfirst(cell) = flatten(definition, static_cast<Node *>(lfirst(cell)));
	return conditions;
}

void
add_policies(CallerUse *use, Definition *definition, List *policies)
{
	use->role = true; // to which each policy is granted
	ListCell *cell;
	foreach (cell, policies)
		add_use(use, definition, static_cast<Node *>(lfirst(cell)));
}

CallerUse
copy_use(const CallerUse &use, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	CallerUse copy = use;
	copy.opaque = use.opaque == nullptr ? nullptr : pstrdup(use.opaque);
	copy.settings = NIL;
	ListCell *cell;
	foreach (cell, use.settings)
		copy.settings = lappend(copy.settings, pstrdup(static_cast<char *>(lfirst(cell))));
	MemoryContextSwitchTo(old);
	return copy;
}

bool
is_same_for_all(const CallerUse &use)
{
	return !use.role && !use.session && !use.worker && !use.lease && !use.formats &&
		   use.settings == NIL;
}

static uint64
add_bytes(uint64 hash, const void *bytes, size_t size)
{
	return DatumGetUInt64(
		hash_any_extended(static_cast<const unsigned char *>(bytes), static_cast<int>(size), hash));
}

// Null and "" differ.
static uint64
add_string(uint64 hash, const char *string)
{
	return string == nullptr ? add_bytes(hash, &hash, 1)
							 : add_bytes(hash, string, strlen(string) + 1);
}

template <typename T>
static uint64
add_value(uint64 hash, const T &value)
{
	return add_bytes(hash, &value, sizeof(value));
}

// The settings on which PostgreSQL's own stable functions depend, but for those that an expression
// over a queue's row has no use for.
static uint64
add_formats(uint64 hash)
{
	hash = add_string(hash, pg_get_timezone_name(session_timezone));
	const int formats[] = {DateStyle, DateOrder, IntervalStyle};
	for (const int value : formats)
		hash = add_value(hash, value);
	return add_string(hash, namespace_search_path);
}

uint64
variant_of(const CallerUse &use, const Request &request, uint64 others)
{
	if (is_same_for_all(use))
		return others;
	uint64 hash = others + 1;
	if (use.role)
		hash = add_value(hash, GetUserId());
	if (use.session) {
		hash = add_value(hash, GetSessionUserId());
		hash = add_value(hash, MyProcPid);
	}
	if (use.worker && request.worker != nullptr)
		hash = add_bytes(hash, VARDATA_ANY(request.worker), VARSIZE_ANY_EXHDR(request.worker));
	else if (use.worker)
		hash = add_string(hash, nullptr);
	if (use.lease && request.lease != nullptr)
		hash = add_value(hash, *request.lease);
	if (use.formats)
		hash = add_formats(hash);
	ListCell *cell;
	foreach (cell, use.settings)
		hash = add_string(hash, GetConfigOption(static_cast<char *>(lfirst(cell)), true, false));
	return Max(hash, 1);
}

} // namespace queue_ext::claim
