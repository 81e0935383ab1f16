// fragment_parse.cpp - see fragment_parse.hpp.

#include "../postgres.hpp"

#include "fragment_parse.hpp"

#include "../compat.hpp"
#include "../error.hpp"
#include "name.hpp"

namespace queue_ext::definition {

const char *
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

// Every clause that could follow the fragment in its text is listed here.
static bool
is_bare_select(const SelectStmt *select)
{
	return select->op == SETOP_NONE && select->distinctClause == NIL &&
		   select->intoClause == nullptr && select->fromClause == NIL &&
		   select->whereClause == nullptr && select->groupClause == NIL &&
		   select->havingClause == nullptr && select->windowClause == NIL &&
		   select->valuesLists == NIL && select->limitOffset == nullptr &&
		   select->limitCount == nullptr && select->lockingClause == NIL &&
		   select->withClause == nullptr;
}

// "*": a query expands it before it transforms expressions, so transformExpr() does not expect it.
static bool
is_star(const Node *node)
{
	return IsA(node, ColumnRef) &&
		   IsA(linitial(reinterpret_cast<const ColumnRef *>(node)->fields), A_Star);
}

// The list that is the fragment; NIL if the statement has anything else.
static List *
list_in(const Node *statement, FragmentKind kind)
{
	if (kind == FragmentKind::assignments) {
		if (!IsA(statement, UpdateStmt))
			return NIL;
		const auto *update = reinterpret_cast<const UpdateStmt *>(statement);
		const bool is_bare = update->whereClause == nullptr && update->fromClause == NIL &&
							 !compat::has_returning(update) && update->withClause == nullptr;
		return is_bare ? update->targetList : NIL;
	}
	if (!IsA(statement, SelectStmt))
		return NIL;
	const auto *select = reinterpret_cast<const SelectStmt *>(statement);
	if (!is_bare_select(select))
		return NIL;
	if (kind == FragmentKind::order)
		return select->targetList == NIL ? select->sortClause : NIL;
	if (select->sortClause != NIL || list_length(select->targetList) != 1)
		return NIL;
	const auto *target = linitial_node(ResTarget, select->targetList);
	return target->name == nullptr && !is_star(target->val) ? select->targetList : NIL;
}

const char *
text_of(const Fragment &fragment)
{
	return psprintf("%s%s", statement_before(fragment.kind), fragment.text);
}

// Parses the fragment; NIL unless it is one list of its kind and nothing more. A semicolon shows in
// stmt_len, which is zero for a statement that ends with the text.
static List *
parse_one(const Fragment &fragment)
{
	const List *statements = raw_parser(text_of(fragment), RAW_PARSE_DEFAULT);
	if (list_length(statements) != 1)
		return NIL;
	const auto *statement = linitial_node(RawStmt, statements);
	return statement->stmt_len == 0 ? list_in(statement->stmt, fragment.kind) : NIL;
}

// Parses the fragment; NIL unless it is one list of its kind and nothing more, also for a syntax error.
// Raises the parser's other errors. The raw parser only allocates memory, so there is nothing to clean
// up after its error.
static List *
try_to_parse_one(const Fragment &fragment)
{
	const MemoryContext context = CurrentMemoryContext;
	List *volatile list = NIL;
	PG_TRY();
	{
		list = parse_one(fragment);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		ErrorData *error = CopyErrorData();
		FlushErrorState();
		if (error->sqlerrcode != ERRCODE_SYNTAX_ERROR)
			ReThrowError(error);
		FreeErrorData(error);
	}
	PG_END_TRY();
	return list;
}

// The words of the clauses that fragments are put into, or are taken from.
static constexpr const char *clauses[] = {
	"where", "on", "when", "having", "and", "or", "order by", "by", "set",
};

// Whether the character may be within a name.
static bool
is_of_name(char character)
{
	const auto byte = static_cast<unsigned char>(character);
	return isalnum(byte) || byte == '_' || byte == '$' || IS_HIGHBIT_SET(byte);
}

// Returns the position behind these words, if the text begins with them, in any case; else null.
static const char *
skip_words(const char *text, const char *words)
{
	for (; *words != '\0'; words++) {
		if (*words == ' ') {
			const char *next = skip_space(text);
			if (next == text)
				return nullptr;
			text = next;
		} else if (pg_ascii_tolower(static_cast<unsigned char>(*text++)) !=
				   static_cast<unsigned char>(*words))
			return nullptr;
	}
	return is_of_name(*text) ? nullptr : skip_space(text);
}

// The clause whose words the text, which does not begin with space, seems to begin with; or null. A
// column may have such a name: "=" or "." follows it then.
static const char *
clause_of(const char *text)
{
	for (const char *clause : clauses) {
		const char *rest = skip_words(text, clause);
		if (rest != nullptr && *rest != '\0' && *rest != '=' && *rest != '.')
			return clause;
	}
	return nullptr;
}

// Raises 42601 if the fragment cannot be parsed and begins with the words of a clause.
static void
check_begin(const Fragment &fragment)
{
	const char *begin = skip_space(fragment.text);
	const char *clause = clause_of(begin);
	if (clause == nullptr || try_to_parse_one(fragment) != NIL)
		return;
	const size_t before = strlen(statement_before(fragment.kind)) + (begin - fragment.text);
	error::begins_with_clause(fragment.label, clause, static_cast<int>(before) + 1);
}

// Parses the fragment; raises 42601 unless it is one list of its kind and nothing more.
static List *
parse_list(const Fragment &fragment)
{
	check_begin(fragment);
	List *list = parse_one(fragment);
	if (list != NIL)
		return list;
	switch (fragment.kind) {
		case FragmentKind::condition:
			error::not_an_expression(fragment.label);
		case FragmentKind::order:
			error::not_an_order(fragment.label);
		case FragmentKind::assignments:
			error::not_assignments(fragment.label);
	}
	pg_unreachable();
}

// Raw tree walker: a sub-select may read rows, but may not lock them.
static bool
locks_rows(Node *node, void *context)
{
	if (node == nullptr)
		return false;
	if (IsA(node, SelectStmt) && reinterpret_cast<SelectStmt *>(node)->lockingClause != NIL)
		return true;
	return compat::walk_raw_tree(node, locks_rows, context);
}

// Raw tree walker: in a statement the parameter would be one of ours.
static bool
has_parameter(Node *node, void *context)
{
	if (node == nullptr)
		return false;
	if (IsA(node, ParamRef))
		return true;
	return compat::walk_raw_tree(node, has_parameter, context);
}

List *
parse(const Fragment &fragment)
{
	List *list = parse_list(fragment);
	auto *node = reinterpret_cast<Node *>(list);
	if (locks_rows(node, nullptr))
		error::fragment_locks_rows(fragment.label);
	if (has_parameter(node, nullptr))
		error::fragment_has_parameter(fragment.label,
									  fragment.scope == Scope::repair
										  ? "call_time, state and arguments"
										  : "call_time, lease, worker, error, retry_at, retry and"
											" new_progress");
	return list;
}

} // namespace queue_ext::definition
