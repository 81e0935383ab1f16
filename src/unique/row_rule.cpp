// row_rule.cpp - see row_rule.hpp.

#include "../postgres.hpp"

#include "row_rule.hpp"

#include "../catalog/identity.hpp"
#include "../catalog/named_dependency.hpp"
#include "../definition/definition_cache.hpp"
#include "../definition/fragment.hpp"
#include "../definition/name.hpp"
#include "../definition/registry.hpp"
#include "../error.hpp"
#include "../statement/search_path.hpp"
#include "canonical.hpp"
#include "row_index.hpp"

namespace queue_ext::unique {

using statement::Parameter;
using statement::placeholder;
using statement::Statement;

static RowRule *rules = nullptr; // most recently used first; the invalid ones too
static uint64 invalidations_seen = 0;

static Size
measure(const RowRule *rule)
{
	Size size = MemoryContextMemAllocated(rule->context, true);
	for (const MaskedStatement &find : rule->finds)
		size += statement::size_of(find.statement);
	for (const MaskedStatement &insert : rule->inserts)
		size += statement::size_of(insert.statement);
	return size;
}

static void
free_rule(RowRule *rule)
{
	for (MaskedStatement &find : rule->finds)
		statement::discard(&find.statement);
	for (MaskedStatement &insert : rule->inserts)
		statement::discard(&insert.statement);
	MemoryContextDelete(rule->context);
}

// Frees what is invalid, or the least recently used of too much, but for what a call uses.
static void
tidy()
{
	invalidations_seen = catalog::invalidation_count();
	Size size = 0;
	for (RowRule **link = &rules; *link != nullptr;) {
		RowRule *rule = *link;
		if (rule->has_grown)
			rule->size = measure(rule);
		rule->has_grown = false;
		size += rule->size;
		if (rule->use_count > 0 ||
			(rule->dependent.is_valid && (rule == rules || size <= definition::cache_limit()))) {
			link = &rule->next;
			continue;
		}
		size -= rule->size;
		*link = rule->next;
		free_rule(rule);
	}
}

static bool any_use = false;

void
begin_use(RowRule *rule)
{
	rule->use_count++;
	any_use = true;
}

void
end_use(RowRule *rule)
{
	rule->use_count--;
}

static void
on_transaction_end(XactEvent event, void *)
{
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE)
		return;
	if (!any_use && invalidations_seen == catalog::invalidation_count())
		return;
	// No call is under way any more, also none that has failed.
	any_use = false;
	for (RowRule *rule = rules; rule != nullptr; rule = rule->next)
		rule->use_count = 0;
	tidy();
}

void
register_rules()
{
	RegisterXactCallback(on_transaction_end, nullptr);
}

static Column
make_column(catalog::Dependent *dependent, Relation table, const Name &name)
{
	const char *string = pnstrdup(name.bytes, name.length);
	const AttrNumber number = get_attnum(RelationGetRelid(table), string);
	if (number <= 0)
		error::no_such_column(RelationGetRelationName(table), string);
	const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(table), number - 1);
	const Oid type = getBaseType(attribute->atttypid);
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_EQ_OPR_FINFO |
														TYPECACHE_HASH_EXTENDED_PROC |
														TYPECACHE_HASH_EXTENDED_PROC_FINFO);
	if (!OidIsValid(entry->eq_opr))
		error::no_equality(string, type);
	catalog::depend_on_operator(dependent, entry->eq_opr);
	return {number, quote_identifier(string), catalog::operator_name(entry->eq_opr),
			type,   attribute->attcollation,  entry};
}

// What the table is a partition of, the root last. None while it is being detached
// (CONCURRENTLY), though it is a partition still.
static List *
ancestors_of(Oid table)
{
	return get_rel_relispartition(table) ? get_partition_ancestors(table) : NIL;
}

static Oid
root_of(Oid table)
{
	List *ancestors = ancestors_of(table);
	return ancestors == NIL ? table : llast_oid(ancestors);
}

// The table's name for locks: rows of a partition are rows of the whole.
static const char *
lock_space_of(Oid table)
{
	const Oid root = root_of(table);
	return psprintf("table=%s", definition::lock_name(get_rel_namespace(root), get_rel_name(root)));
}

static List *
queues_of(Oid table)
{
	const char *schema = get_namespace_name(get_rel_namespace(table));
	List *queues = NIL;
	ListCell *cell;
	foreach (cell, definition::find_names(table))
		queues = lappend(queues, cstring_to_text(quote_qualified_identifier(
									 schema, static_cast<char *>(lfirst(cell)))));
	return queues;
}

static List *
queues_of_all(Oid table)
{
	List *queues = queues_of(table);
	ListCell *cell;
	foreach (cell, ancestors_of(table))
		queues = list_concat(queues, queues_of(lfirst_oid(cell)));
	return queues;
}

static void
compile_among(RowRule *rule, Relation table, List **conjuncts)
{
	if (rule->among_text == nullptr)
		return;
	const definition::Fragment fragment{rule->among_text, definition::FragmentKind::condition,
										"among", nullptr, false};
	const definition::Compiled compiled = definition::compile(fragment, table, rule->search_path);
	catalog::depend_on_expression(&rule->dependent, compiled.expression);
	rule->among = compiled.text;
	*conjuncts = compiled.conjuncts;
}

// What the table is a part of has a say in the names of locks, and carries queues.
static void
depend_on_tables(RowRule *rule)
{
	catalog::depend_on_table(&rule->dependent, rule->table);
	ListCell *cell;
	foreach (cell, ancestors_of(rule->table))
		catalog::depend_on_table(&rule->dependent, lfirst_oid(cell));
}

// All but what the choice says. The rule's context is the current one.
static void
fill_in(RowRule *rule, Relation table, const Names &names)
{
	depend_on_tables(rule);
	rule->row_type = table->rd_rel->reltype;
	rule->table_name = definition::qualified_name(rule->table);
	rule->lock_space = lock_space_of(rule->table);
	rule->width = RelationGetNumberOfAttributes(table);
	rule->column_count = names.count;
	rule->columns = static_cast<Column *>(palloc0(sizeof(Column) * Max(names.count, 1)));
	for (int i = 0; i < names.count; i++)
		rule->columns[i] = make_column(&rule->dependent, table, names.list[i]);
	List *conjuncts = NIL;
	compile_among(rule, table, &conjuncts);
	rule->queues = queues_of_all(rule->table);
	rule->index_command = missing_index(rule, table, conjuncts);
}

static RowRule *
make_rule(const RowChoice &choice, const Names &names, const char *by, const char *path)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "queue_ext unique rule", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Relation table = table_open(choice.table, NoLock);
	error::debug_compiling_rule(RelationGetRelationName(table));
	auto *rule = static_cast<RowRule *>(palloc0(sizeof(RowRule)));
	rule->context = context;
	rule->table = choice.table;
	rule->by = pstrdup(by);
	rule->among_text = choice.among == nullptr ? nullptr : pstrdup(choice.among);
	rule->search_path = path == nullptr ? nullptr : pstrdup(path);
	catalog::begin_dependent(&rule->dependent, context);
	catalog::make_dependent(&rule->dependent, [&] { fill_in(rule, table, names); });
	table_close(table, NoLock);
	MemoryContextSwitchTo(old);
	return rule;
}

static bool
is_same(const char *left, const char *right)
{
	return left == nullptr || right == nullptr ? left == right : strcmp(left, right) == 0;
}

static RowRule *
find_rule(const RowChoice &choice, const char *by, const char *path)
{
	for (RowRule **link = &rules; *link != nullptr; link = &(*link)->next) {
		RowRule *rule = *link;
		if (!rule->dependent.is_valid || rule->table != choice.table || !is_same(rule->by, by) ||
			!is_same(rule->among_text, choice.among) || !is_same(rule->search_path, path))
			continue;
		*link = rule->next;
		rule->next = rules;
		rules = rule;
		return rule;
	}
	return nullptr;
}

static void
keep(RowRule *rule)
{
	MemoryContextSetParent(rule->context, CacheMemoryContext);
	rule->has_grown = true;
	rule->next = rules;
	rules = rule;
	// This one is in front, and stays even if it is too large, or good for this call alone.
	rule->use_count++;
	tidy();
	rule->use_count--;
}

RowRule *
rule_for(const RowChoice &choice)
{
	const Names names = read_names("unique_by", choice.unique_by);
	StringInfoData by;
	initStringInfo(&by);
	append_names(&by, names);
	const char *path = choice.among == nullptr ? nullptr : statement::current_search_path();
	RowRule *rule = find_rule(choice, by.data, path);
	if (rule == nullptr) {
		rule = make_rule(choice, names, by.data, path);
		keep(rule);
		warn_once(rule);
	}
	return rule;
}

static void
move_to_front(MaskedStatement *list, int place)
{
	const MaskedStatement moved = list[place];
	memmove(&list[1], &list[0], sizeof(MaskedStatement) * place);
	list[0] = moved;
}

static bool
is_for(const MaskedStatement &masked, const bool *is_null, int count)
{
	return masked.statement.is_prepared() &&
		   memcmp(masked.is_null, is_null, sizeof(bool) * count) == 0;
}

// The place of the statement for those nulls, or else the last.
static int
place_of(const MaskedStatement *list, const bool *is_null, int count)
{
	int place = 0;
	while (place < masked_count - 1 && !is_for(list[place], is_null, count))
		place++;
	return place;
}

// Keeps the statement for those nulls in place of the least recently used.
static void
replace(RowRule *rule, MaskedStatement *masked, const bool *is_null, int count,
		const Statement &statement)
{
	// A call further up may be running it.
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

// The statement for those nulls, prepared when first asked for from the text that
// make_text() returns. First in line then.
template <typename MakeText>
static Statement
masked_statement(RowRule *rule, MaskedStatement *list, const bool *is_null, int count,
				 MakeText &&make_text)
{
	const int place = place_of(list, is_null, count);
	if (!is_for(list[place], is_null, count)) {
		Statement fresh{};
		statement::prepare(&fresh, make_text(), rule->row_type, statement::Access::by_key);
		rule->has_grown = true;
		// Parsing may have run code of the user's that inserts, too, and has moved these. Only
		// now the last one is given up.
		replace(rule, &list[place], is_null, count, fresh);
	}
	move_to_front(list, place);
	return list[0].statement;
}

static const char *
find_text(const RowRule *rule, const bool *is_null)
{
	StringInfoData text;
	initStringInfo(&text);
	appendStringInfo(&text, "select t.*::%s from %s as t where true", rule->table_name,
					 rule->table_name);
	for (int i = 0; i < rule->column_count; i++) {
		const Column &column = rule->columns[i];
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
	return psprintf("insert into %s as t %s returning t.*::%s", rule->table_name, rest,
					rule->table_name);
}

Statement
insert_statement(RowRule *rule, const bool *is_null)
{
	return masked_statement(rule, rule->inserts, is_null, rule->width,
							[&] { return insert_text(rule, is_null); });
}

} // namespace queue_ext::unique
