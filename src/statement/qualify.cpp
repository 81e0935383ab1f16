// qualify.cpp - see qualify.hpp.

#include "../postgres.hpp"

#include "qualify.hpp"

#include "../compat.hpp"

namespace queue_ext::statement {

namespace {

// A replacement of "length" bytes of the text; length 0 inserts.
struct Edit
{
	int location;
	int length;
	const char *replacement;
};

// The walkers' context: the text, and the edits found so far.
struct Edits
{
	const char *text;
	int start;                       // length of "before"
	List *ctes;                      // the names (char *) in all WITH clauses
	const Replacement *replacements; // null: qualify names instead
	int replacement_count;
	Edit *elements;
	int count;
	int capacity;
};

} // namespace

// Ignores names within "before", which is not part of the result.
static void
add(Edits *edits, int location, int length, const char *replacement)
{
	if (location < edits->start)
		return;
	if (edits->count == edits->capacity) {
		edits->capacity *= 2;
		edits->elements =
			static_cast<Edit *>(repalloc(edits->elements, sizeof(Edit) * edits->capacity));
	}
	edits->elements[edits->count++] = {location, length, replacement};
}

// Leaves an operator that has a schema, or no location in the text.
static void
qualify_operator(Edits *edits, const List *name, int location)
{
	if (list_length(name) != 1 || location < 0)
		return;
	const char *symbol = strVal(linitial(name));
	const int length = static_cast<int>(strlen(symbol));
	// The grammar gives keywords such as IN and LIKE the name of an operator that is not in the
	// text.
	if (strncmp(edits->text + location, symbol, length) == 0)
		add(edits, location, length, psprintf("operator(pg_catalog.%s)", symbol));
}

static void
qualify_name(Edits *edits, const List *name, int location)
{
	if (list_length(name) == 1 && location >= 0)
		add(edits, location, 0, "pg_catalog.");
}

// Ignores the scope of a WITH clause: its name counts as a CTE in the whole text.
static bool
is_cte(const List *ctes, const char *name)
{
	ListCell *cell;
	foreach (cell, ctes)
		if (strcmp(static_cast<char *>(lfirst(cell)), name) == 0)
			return true;
	return false;
}

// Runs before the names are visited: a name may be used before its WITH clause is reached.
static bool
collect_ctes(Node *node, void *ctes)
{
	if (node == nullptr)
		return false;
	if (IsA(node, CommonTableExpr)) {
		auto **names = static_cast<List **>(ctes);
		*names = lappend(*names, reinterpret_cast<CommonTableExpr *>(node)->ctename);
	}
	return compat::walk_raw_tree(node, collect_ctes, ctes);
}

// Finds the names in the raw parse tree, whose locations are byte offsets in the text.
static void
visit_names(Edits *edits, Node *node)
{
	switch (nodeTag(node)) {
		case T_A_Expr: {
			const auto *expression = reinterpret_cast<A_Expr *>(node);
			if (expression->kind == AEXPR_OP || expression->kind == AEXPR_OP_ANY ||
				expression->kind == AEXPR_OP_ALL)
				qualify_operator(edits, expression->name, expression->location);
			break;
		}
		case T_SubLink: {
			const auto *link = reinterpret_cast<SubLink *>(node);
			qualify_operator(edits, link->operName, link->location);
			break;
		}
		case T_FuncCall: {
			const auto *call = reinterpret_cast<FuncCall *>(node);
			qualify_name(edits, call->funcname, call->location);
			break;
		}
		case T_TypeName: {
			const auto *type = reinterpret_cast<TypeName *>(node);
			qualify_name(edits, type->names, type->location);
			break;
		}
		case T_CollateClause: {
			const auto *clause = reinterpret_cast<CollateClause *>(node);
			constexpr int keyword_length = 8; // "COLLATE "
			qualify_name(edits, clause->collname, clause->location + keyword_length);
			break;
		}
		case T_RangeVar: {
			const auto *relation = reinterpret_cast<RangeVar *>(node);
			if (relation->schemaname == nullptr && !is_cte(edits->ctes, relation->relname))
				add(edits, relation->location, 0, "pg_catalog.");
			break;
		}
		default:
			break;
	}
}

// Finds the text "$n" by its location and the length of the number.
static void
visit_parameter(Edits *edits, const ParamRef *parameter)
{
	for (int i = 0; i < edits->replacement_count; i++)
		if (edits->replacements[i].parameter == parameter->number)
			add(edits, parameter->location,
				static_cast<int>(strlen(psprintf("$%d", parameter->number))),
				edits->replacements[i].text);
}

// raw_expression_tree_walker() visits each node once, in no order that matters: edit() sorts.
static bool
visit(Node *node, void *context)
{
	auto *edits = static_cast<Edits *>(context);
	if (node == nullptr)
		return false;
	if (edits->replacements == nullptr)
		visit_names(edits, node);
	else if (IsA(node, ParamRef))
		visit_parameter(edits, reinterpret_cast<ParamRef *>(node));
	return compat::walk_raw_tree(node, visit, context);
}

static int
by_location(const void *left, const void *right)
{
	return static_cast<const Edit *>(left)->location - static_cast<const Edit *>(right)->location;
}

// Collects the edits from the raw parse tree, and applies them from left to right.
static char *
edit(const char *text, const char *before, const Replacement *replacements, int replacement_count)
{
	constexpr int first_capacity = 16;
	Edits edits{};
	edits.text = psprintf("%s%s", before, text);
	edits.start = static_cast<int>(strlen(before));
	edits.replacements = replacements;
	edits.replacement_count = replacement_count;
	edits.capacity = first_capacity;
	edits.elements = static_cast<Edit *>(palloc(sizeof(Edit) * first_capacity));

	const auto *statement = linitial_node(RawStmt, raw_parser(edits.text, RAW_PARSE_DEFAULT));
	collect_ctes(statement->stmt, &edits.ctes);
	visit(statement->stmt, &edits);
	qsort(edits.elements, edits.count, sizeof(Edit), by_location);

	StringInfoData edited;
	initStringInfo(&edited);
	int done = edits.start;
	for (int i = 0; i < edits.count; i++) {
		const Edit &next = edits.elements[i];
		appendBinaryStringInfo(&edited, edits.text + done, next.location - done);
		appendStringInfoString(&edited, next.replacement);
		done = next.location + next.length;
	}
	appendStringInfoString(&edited, edits.text + done);
	return edited.data;
}

char *
qualify(const char *text, const char *before)
{
	return edit(text, before, nullptr, 0);
}

char *
replace_parameters(const char *text, const char *before, const Replacement *replacements, int count)
{
	return edit(text, before, replacements, count);
}

#ifdef USE_ASSERT_CHECKING
// For an assertion: every name of the statement must have its schema.
static bool
has_bare_name(Node *node, void *ctes)
{
	if (node == nullptr)
		return false;
	switch (nodeTag(node)) {
		case T_A_Expr: {
			const auto *expression = reinterpret_cast<A_Expr *>(node);
			// A fragment may have these; SQL has no syntax that gives their operators a schema.
			const bool is_nameless = expression->kind == AEXPR_NULLIF ||
									 expression->kind == AEXPR_DISTINCT ||
									 expression->kind == AEXPR_NOT_DISTINCT;
			if (!is_nameless && list_length(expression->name) < 2)
				return true;
			break;
		}
		case T_SubLink:
			if (list_length(reinterpret_cast<SubLink *>(node)->operName) == 1)
				return true;
			break;
		case T_FuncCall:
			if (list_length(reinterpret_cast<FuncCall *>(node)->funcname) < 2)
				return true;
			break;
		case T_TypeName:
			if (list_length(reinterpret_cast<TypeName *>(node)->names) < 2)
				return true;
			break;
		case T_CollateClause:
			if (list_length(reinterpret_cast<CollateClause *>(node)->collname) < 2)
				return true;
			break;
		case T_RangeVar: {
			const auto *relation = reinterpret_cast<RangeVar *>(node);
			if (relation->schemaname == nullptr &&
				!is_cte(*static_cast<List **>(ctes), relation->relname))
				return true;
			break;
		}
		case T_LockingClause:
			return false; // what it names is in the FROM clause
		default:
			break;
	}
	return compat::walk_raw_tree(node, has_bare_name, ctes);
}

bool
is_qualified(const char *text)
{
	ListCell *cell;
	foreach (cell, raw_parser(text, RAW_PARSE_DEFAULT)) {
		Node *statement = lfirst_node(RawStmt, cell)->stmt;
		List *ctes = NIL;
		collect_ctes(statement, &ctes);
		if (has_bare_name(statement, &ctes))
			return false;
	}
	return true;
}
#endif

} // namespace queue_ext::statement
