// fragment.cpp - see fragment.hpp.

#include "../postgres.hpp"

#include "fragment.hpp"

#include "../compat.hpp"
#include "statement.hpp"

namespace queue_ext::queue {

// A word of the text to be replaced.
struct Edit
{
	int location;
	int length;
	const char *replacement;
};

struct Walk
{
	const char *text;
	const Variables *variables;
	bool qualify_operators;
	Edit *edits;
	int count;
	int capacity;
};

Variables
scalar_variables()
{
	return {
		placeholder(Parameter::call_time), placeholder(Parameter::lease),
		placeholder(Parameter::worker),    placeholder(Parameter::error),
		placeholder(Parameter::retry_at),
	};
}

static void
add_edit(Walk *walk, int location, int length, const char *replacement)
{
	if (walk->count == walk->capacity) {
		walk->capacity *= 2;
		walk->edits = static_cast<Edit *>(repalloc(walk->edits, sizeof(Edit) * walk->capacity));
	}
	walk->edits[walk->count++] = {location, length, replacement};
}

static const char *
value_of(const Variables &variables, const char *name)
{
	if (strcmp(name, "call_time") == 0)
		return variables.call_time;
	if (strcmp(name, "lease") == 0)
		return variables.lease;
	if (strcmp(name, "worker") == 0)
		return variables.worker;
	if (strcmp(name, "error") == 0)
		return variables.error;
	if (strcmp(name, "retry_at") == 0)
		return variables.retry_at;
	return nullptr;
}

static void
visit_column(Walk *walk, const ColumnRef *column)
{
	if (list_length(column->fields) != 1 || !IsA(linitial(column->fields), String))
		return;
	const char *name = strVal(linitial(column->fields));
	const char *value = value_of(*walk->variables, name);
	if (value != nullptr && walk->text[column->location] != '"')
		add_edit(walk, column->location, static_cast<int>(strlen(name)), value);
}

static void
visit_operator(Walk *walk, const A_Expr *expression)
{
	if (!walk->qualify_operators || expression->kind != AEXPR_OP ||
		list_length(expression->name) != 1)
		return;
	const char *name = strVal(linitial(expression->name));
	add_edit(walk, expression->location, static_cast<int>(strlen(name)),
			 psprintf("operator(pg_catalog.%s)", name));
}

static bool
visit(Node *node, void *context)
{
	auto *walk = static_cast<Walk *>(context);
	if (node == nullptr)
		return false;
	if (IsA(node, ColumnRef))
		visit_column(walk, reinterpret_cast<ColumnRef *>(node));
	else if (IsA(node, A_Expr))
		visit_operator(walk, reinterpret_cast<A_Expr *>(node));
	return compat::walk_raw_tree(node, visit, context);
}

static int
by_location(const void *left, const void *right)
{
	return static_cast<const Edit *>(left)->location - static_cast<const Edit *>(right)->location;
}

// The shortest statement in which such a fragment can stand last.
static const char *
statement_before(FragmentKind kind)
{
	switch (kind) {
		case FragmentKind::condition:
			return "select ";
		case FragmentKind::order:
			return "select order by ";
		case FragmentKind::assignments:
			return "update x set ";
	}
	pg_unreachable();
}

char *
bind(const char *fragment, FragmentKind kind, const Variables &variables, bool qualify_operators)
{
	const char *before = statement_before(kind);
	constexpr int first_capacity = 16;
	Walk walk{};
	walk.text = psprintf("%s%s", before, fragment);
	walk.variables = &variables;
	walk.qualify_operators = qualify_operators;
	walk.capacity = first_capacity;
	walk.edits = static_cast<Edit *>(palloc(sizeof(Edit) * first_capacity));

	const auto *statement = linitial_node(RawStmt, raw_parser(walk.text, RAW_PARSE_DEFAULT));
	visit(statement->stmt, &walk);
	qsort(walk.edits, walk.count, sizeof(Edit), by_location);

	StringInfoData bound;
	initStringInfo(&bound);
	int done = static_cast<int>(strlen(before));
	for (int i = 0; i < walk.count; i++) {
		const Edit &edit = walk.edits[i];
		appendBinaryStringInfo(&bound, walk.text + done, edit.location - done);
		appendStringInfoString(&bound, edit.replacement);
		done = edit.location + edit.length;
	}
	appendStringInfoString(&bound, walk.text + done);
	return bound.data;
}

} // namespace queue_ext::queue
