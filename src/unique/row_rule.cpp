// row_rule.cpp - see row_rule.hpp.

#include "../postgres.hpp"

#include "row_rule.hpp"

namespace queue_ext::unique {

using statement::Parameter;
using statement::Statement;
using statement::placeholder;

Size
size_of(const RowRule *rule)
{
	Size size = MemoryContextMemAllocated(rule->context, true);
	for (const MaskedStatement &find : rule->finds)
		size += statement::size_of(find.statement);
	for (const MaskedStatement &insert : rule->inserts)
		size += statement::size_of(insert.statement);
	return size;
}

void
free_rule(RowRule *rule)
{
	for (MaskedStatement &find : rule->finds)
		statement::discard(&find.statement);
	for (MaskedStatement &insert : rule->inserts)
		statement::discard(&insert.statement);
	MemoryContextDelete(rule->context);
}

// Keeps the list in the order of use, so that the last one is the least recently used one.
static void
move_to_front(MaskedStatement *list, int index)
{
	const MaskedStatement moved = list[index];
	memmove(&list[1], &list[0], sizeof(MaskedStatement) * index);
	list[0] = moved;
}

static bool
is_for(const MaskedStatement &masked, const bool *is_null, int count)
{
	return masked.statement.is_prepared() &&
		   memcmp(masked.is_null, is_null, sizeof(bool) * count) == 0;
}

// Returns the index of the statement for those nulls, or else the last.
static int
index_of(const MaskedStatement *list, const bool *is_null, int count)
{
	int index = 0;
	while (index < masked_count - 1 && !is_for(list[index], is_null, count))
		index++;
	return index;
}

// Puts the statement for those nulls in the place of the least recently used one.
static void
replace(RowRule *rule, MaskedStatement *masked, const bool *is_null, int count,
		const Statement &statement)
{
	// An outer call may be running it.
	if (rule->use_count > 1)
		statement::discard_later(&masked->statement);
	else
		statement::discard(&masked->statement);
	if (masked->is_null == nullptr)
		masked->is_null =
			static_cast<bool *>(MemoryContextAlloc(rule->context, sizeof(bool) * Max(count, 1)));
	memcpy(masked->is_null, is_null, sizeof(bool) * count);
	masked->statement = statement;
}

// Returns the statement for those nulls and moves it to the front; make_text() returns the text if
// it must be prepared.
template <typename MakeText>
static Statement
masked_statement(RowRule *rule, MaskedStatement *list, const bool *is_null, int count,
				 MakeText &&make_text)
{
	const int index = index_of(list, is_null, count);
	if (!is_for(list[index], is_null, count)) {
		Statement fresh{};
		statement::prepare(&fresh, make_text(), rule->row_type, statement::Access::by_key,
						   {&rule->named, 1}, {"unique insert", nullptr});
		rule->has_grown = true;
		// Parsing may have run user-defined code that inserts, too, and has moved the statements.
		// The last one is given up only now.
		replace(rule, &list[index], is_null, count, fresh);
	}
	move_to_front(list, index);
	return list[0].statement;
}

// A null column is compared by IS NOT DISTINCT FROM NULL, since IS NULL also accepts a composite
// value of nulls.
static const char *
find_text(const RowRule *rule, const bool *is_null)
{
	StringInfoData text;
	initStringInfo(&text);
	appendStringInfo(&text, "select t.*::%s from %s as t where true", rule->named.name,
					 rule->named.name);
	for (int i = 0; i < rule->column_count; i++) {
		const RuleColumn &column = rule->columns[i];
		if (is_null[i])
			appendStringInfo(&text, " and t.%s is not distinct from null", column.name);
		else
			appendStringInfo(&text, " and t.%s %s (%s).%s", column.name, column.equality,
							 placeholder(Parameter::row), column.name);
	}
	if (rule->among != nullptr)
		appendStringInfo(&text, " and (%s)", rule->among);
	appendStringInfoString(&text, " limit 1");
	return text.data;
}

Statement
find_statement(RowRule *rule, const bool *are_columns_null)
{
	return masked_statement(rule, rule->finds, are_columns_null, rule->column_count,
							[&] { return find_text(rule, are_columns_null); });
}

// Leaves out null columns, so that they take their defaults, and generated ones.
static const char *
insert_text(const RowRule *rule, const bool *is_null)
{
	StringInfoData columns;
	StringInfoData values;
	initStringInfo(&columns);
	initStringInfo(&values);
	Relation table = table_open(rule->table, NoLock);
	for (int i = 0; i < rule->width; i++) {
		const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(table), i);
		if (attribute->attisdropped || attribute->attgenerated != '\0' || is_null[i])
			continue;
		const char *name = quote_identifier(NameStr(attribute->attname));
		const char *comma = columns.len > 0 ? ", " : "";
		appendStringInfo(&columns, "%s%s", comma, name);
		appendStringInfo(&values, "%s(%s).%s", comma, placeholder(Parameter::row), name);
	}
	table_close(table, NoLock);
	const char *rest = columns.len > 0 ? psprintf("(%s) values (%s)", columns.data, values.data)
									   : "default values";
	return psprintf("insert into %s as t %s returning t.*::%s", rule->named.name, rest,
					rule->named.name);
}

Statement
insert_statement(RowRule *rule, const bool *is_null)
{
	return masked_statement(rule, rule->inserts, is_null, rule->width,
							[&] { return insert_text(rule, is_null); });
}

} // namespace queue_ext::unique
