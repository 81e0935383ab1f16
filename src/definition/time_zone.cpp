// time_zone.cpp - see time_zone.hpp.

#include "../postgres.hpp"

#include "time_zone.hpp"

#include "../compat.hpp"

namespace queue_ext::definition {

namespace {

// What the walkers look for, and what they have found.
struct Search
{
	Relation table;
	bool has_local;   // a type without zone is among arguments and result
	bool has_zone;    // a type with zone is among them
	const char *what; // null: nothing yet
};

} // namespace

static bool
is_local(Oid type)
{
	return type == TIMESTAMPOID || type == DATEOID || type == TIMEOID;
}

static void
add_type(Search *search, Oid type)
{
	search->has_local |= is_local(type);
	search->has_zone |= type == TIMESTAMPTZOID || type == TIMETZOID;
}

// For check_functions_in_node(): those that depend on the zone are stable, as others depend on nothing but their
// arguments.
static bool
converts(Oid function, void *context)
{
	auto *search = static_cast<Search *>(context);
	Oid *arguments;
	int count;
	search->has_local = false;
	search->has_zone = false;
	add_type(search, get_func_signature(function, &arguments, &count));
	for (int i = 0; i < count; i++)
		add_type(search, arguments[i]);
	return search->has_local && search->has_zone && func_volatile(function) == PROVOLATILE_STABLE;
}

// Tree walker: stops at the first column without zone.
static bool
find_column(Node *node, void *context)
{
	auto *search = static_cast<Search *>(context);
	if (node == nullptr)
		return false;
	if (IsA(node, Var)) {
		const auto *column = castNode(Var, node);
		if (column->varlevelsup > 0 || column->varattno <= 0 || !is_local(column->vartype))
			return false;
		search->what =
			psprintf("Column \"%s\" is of type %s.",
					 get_attname(RelationGetRelid(search->table), column->varattno, false),
					 format_type_be(column->vartype));
		return true;
	}
	return compat::walk_tree(node, find_column, context);
}

// Tree walker: stops at the first use.
static bool
find_use(Node *node, void *context)
{
	auto *search = static_cast<Search *>(context);
	if (node == nullptr)
		return false;
	if (!IsA(node, SubLink) && check_functions_in_node(node, converts, context)) {
		if (!find_column(node, context))
			search->what = "A value with time zone is made one without, or the other way round.";
		return true;
	}
	return compat::walk_tree(node, find_use, context);
}

const char *
find_zone_use(Node *expression, Relation table)
{
	Search search{table, false, false, nullptr};
	(void) find_use(expression, &search);
	return search.what;
}

} // namespace queue_ext::definition
