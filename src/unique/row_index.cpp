// row_index.cpp - see row_index.hpp.

#include "../postgres.hpp"

#include "row_index.hpp"

#include "../catalog/indexes.hpp"
#include "../definition/fragment.hpp"
#include "../error.hpp"

namespace queue_ext::unique {

// False for a type that has equality but no order, such as xid.
static bool
can_be_indexed(const RuleColumn &column)
{
	return OidIsValid(GetDefaultOpClass(column.type, BTREE_AM_OID));
}

static int
indexable_count(const RowRule *rule)
{
	int count = 0;
	for (int i = 0; i < rule->column_count; i++)
		count += can_be_indexed(rule->columns[i]);
	return count;
}

// Whether the column at that position of the index is one of the rule's, and compares values as the
// rule does.
static bool
is_of_rule(const RowRule *rule, Relation index, int place)
{
	for (int i = 0; i < rule->column_count; i++) {
		const RuleColumn &column = rule->columns[i];
		if (column.number == index->rd_index->indkey.values[place])
			return column.collation == index->rd_indcollation[place] &&
				   op_in_opfamily(column.entry->eq_opr, index->rd_opfamily[place]);
	}
	return false;
}

// Counts key columns only: INCLUDE columns do not narrow a scan.
static int
leading_count(const RowRule *rule, Relation index)
{
	int count = 0;
	while (count < index->rd_index->indnkeyatts && is_of_rule(rule, index, count))
		count++;
	return count;
}

// What the duplicate check of a row without nulls asks for: "among", simplified and as it is since predicates are one
// or the other, and that the columns are not null.
static List *
known_of_rows(const RowRule *rule, Relation table, List *conjuncts)
{
	List *known = NIL;
	ListCell *cell;
	foreach (cell, conjuncts) {
		auto *conjunct = static_cast<Node *>(lfirst(cell));
		known = lappend(lappend(known, conjunct), eval_const_expressions(nullptr, conjunct));
	}
	for (int i = 0; i < rule->column_count; i++) {
		const AttrNumber number = rule->columns[i].number;
		const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(table), number - 1);
		NullTest *test = makeNode(NullTest);
		test->arg = reinterpret_cast<Expr *>(makeVar(
			1, number, attribute->atttypid, attribute->atttypmod, attribute->attcollation, 0));
		test->nulltesttype = IS_NOT_NULL;
		test->argisrow = false;
		test->location = -1;
		known = lappend(known, test);
	}
	return known;
}

// A unique index over some of the columns serves as well: it leads to one row, nulls aside.
static bool
does_serve(const RowRule *rule, Relation index, List *known)
{
	const Form_pg_index form = index->rd_index;
	if (!form->indisvalid)
		return false;
	List *predicate = catalog::index_predicate(index);
	if (predicate != NIL && !predicate_implied_by(predicate, known, false))
		return false;
	const int leading = leading_count(rule, index);
	if (leading == 0)
		return false;
	return leading >= indexable_count(rule) || (form->indisunique && leading == form->indnkeyatts);
}

// Holds ACCESS SHARE on an index only while it looks at it.
static bool
is_served(const RowRule *rule, Relation table, List *known)
{
	bool is_found = false;
	catalog::each_index(
		table, [&](Relation index) { is_found = is_found || does_serve(rule, index, known); });
	return is_found;
}

// Leaves out of the predicate what depends on more than the row, such as a comparison with now().
static const char *
command_for(const RowRule *rule, List *conjuncts)
{
	StringInfoData command;
	initStringInfo(&command);
	appendStringInfo(&command, "CREATE INDEX ON %s (", rule->named.name);
	const char *comma = "";
	for (int i = 0; i < rule->column_count; i++) {
		if (!can_be_indexed(rule->columns[i]))
			continue;
		appendStringInfo(&command, "%s%s", comma, rule->columns[i].name);
		comma = ", ";
	}
	appendStringInfoChar(&command, ')');
	const char *before = " WHERE ";
	ListCell *cell;
	foreach (cell, conjuncts) {
		auto *conjunct = static_cast<Node *>(lfirst(cell));
		if (!definition::can_be_predicate(conjunct))
			continue;
		appendStringInfo(&command, "%s%s", before,
						 definition::write_out_bare(conjunct, rule->table));
		before = " AND ";
	}
	return command.data;
}

const char *
missing_index(const RowRule *rule, Relation table, List *conjuncts)
{
	if (indexable_count(rule) == 0 || is_served(rule, table, known_of_rows(rule, table, conjuncts)))
		return nullptr;
	return command_for(rule, conjuncts);
}

// Remembers 1,000 tables at most and then warns of no others, so that the list cannot grow without
// limit.
void
warn_once(const RowRule *rule)
{
	constexpr int most = 1000;
	static List *warned = NIL;
	if (rule->index_command == nullptr || list_length(warned) >= most ||
		list_member_oid(warned, rule->table))
		return;
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	warned = lappend_oid(warned, rule->table);
	MemoryContextSwitchTo(old);
	error::warn_no_unique_index(rule->named.name, rule->index_command);
}

} // namespace queue_ext::unique
