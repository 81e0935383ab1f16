// rule_cache.cpp - see rule_cache.hpp.

#include "../postgres.hpp"

#include "rule_cache.hpp"

#include "../catalog/citus.hpp"
#include "../catalog/row_key.hpp"
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

// The rules of this backend, most recently used first, including invalid ones.
static RowRule *rules = nullptr;
// catalog::invalidation_count() at the last tidy().
static uint64 invalidations_seen = 0;

// Frees invalid rules, and the least recently used ones beyond the limit, but none that a call
// uses.
static void
tidy()
{
	invalidations_seen = catalog::invalidation_count();
	Size size = 0;
	for (RowRule **link = &rules; *link != nullptr;) {
		RowRule *rule = *link;
		if (rule->has_grown)
			rule->size = size_of(rule);
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

// Whether a rule has been used since the last end of a transaction.
static bool any_use = false;

void
pin_rule(RowRule *rule)
{
	rule->use_count++;
	any_use = true;
}

void
unpin_rule(RowRule *rule)
{
	rule->use_count--;
}

// Ends all use and frees what tidy() frees. Reads no catalogs.
static void
on_transaction_end(XactEvent event, void *)
{
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE)
		return;
	if (!any_use && invalidations_seen == catalog::invalidation_count())
		return;
	// No call can be in progress; one that failed has left its count behind.
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

// Raises 42703 for a missing or system column, 42883 for a type without equality.
static RuleColumn
make_column(catalog::Dependent *dependent, Relation table, const KeyName &name)
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

// Returns the tables that the table is a partition of, the root last. Empty while the partition is
// being detached concurrently, although it still is one.
static List *
ancestors_of(Oid table)
{
	return get_rel_relispartition(table) ? get_partition_ancestors(table) : NIL;
}

// Returns the parent, also of a partition that is being detached concurrently; InvalidOid if there
// is none any more.
static Oid
parent_of(Oid table)
{
	Relation inherits = table_open(InheritsRelationId, AccessShareLock);
	ScanKeyData key[2];
	ScanKeyInit(&key[0], Anum_pg_inherits_inhrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(table));
	ScanKeyInit(&key[1], Anum_pg_inherits_inhseqno, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(1));
	SysScanDesc scan =
		systable_beginscan(inherits, InheritsRelidSeqnoIndexId, true, nullptr, lengthof(key), key);
	HeapTuple row = systable_getnext(scan);
	const Oid parent = HeapTupleIsValid(row)
						   ? reinterpret_cast<Form_pg_inherits>(GETSTRUCT(row))->inhparent
						   : InvalidOid;
	systable_endscan(scan);
	table_close(inherits, AccessShareLock);
	return parent;
}

// While a partition is being detached concurrently, transactions that began before still insert
// under the name of its root, so it keeps that name until no transaction has the partition locked.
Oid
root_of(Oid table)
{
	while (get_rel_relispartition(table)) {
		const Oid parent = parent_of(table);
		if (!OidIsValid(parent))
			break;
		table = parent;
	}
	return table;
}

// The common part of the names of locks. That of a partition is its root's, since inserts through
// either must exclude each other.
static const char *
lock_space_of(Oid table)
{
	const Oid root = root_of(table);
	return psprintf("table=%s", definition::lock_name(get_rel_namespace(root), get_rel_name(root)));
}

static List *
queues_of(Oid table)
{
	List *queues = NIL;
	ListCell *cell;
	foreach (cell, definition::find_names(table)) {
		auto *queue = static_cast<RowQueue *>(palloc(sizeof(RowQueue)));
		*queue = {table, static_cast<const char *>(lfirst(cell))};
		queues = lappend(queues, queue);
	}
	return queues;
}

// Rows of a partition are rows of its ancestors, so the queues on those must be woken, too.
static List *
queues_of_all(Oid table)
{
	List *queues = queues_of(table);
	ListCell *cell;
	foreach (cell, ancestors_of(table))
		queues = list_concat(queues, queues_of(lfirst_oid(cell)));
	return queues;
}

// Compiles "among" under the search_path of the call. What it names can invalidate the rule.
static void
compile_among(RowRule *rule, Relation table, List **conjuncts)
{
	if (rule->among_text == nullptr)
		return;
	const definition::Fragment fragment{rule->among_text, definition::FragmentKind::condition,
										"among", nullptr, false};
	const definition::CompiledFragment compiled =
		definition::compile(fragment, table, rule->search_path);
	catalog::depend_on_expression(&rule->dependent, compiled.expression);
	rule->among = compiled.text;
	*conjuncts = compiled.conjuncts;
}

// The root gives the locks their names, and every ancestor may carry queues.
static void
depend_on_tables(RowRule *rule)
{
	catalog::depend_on_table(&rule->dependent, rule->table);
	ListCell *cell;
	foreach (cell, ancestors_of(rule->table))
		catalog::depend_on_table(&rule->dependent, lfirst_oid(cell));
}

// Fills in all but what the choice says. The current memory context is that of the rule.
static void
fill_in(RowRule *rule, Relation table, const Names &names)
{
	depend_on_tables(rule);
	rule->row_type = table->rd_rel->reltype;
	rule->named = {rule->table, definition::qualified_name(rule->table)};
	rule->lock_space = lock_space_of(rule->table);
	rule->width = RelationGetNumberOfAttributes(table);
	rule->column_count = names.count;
	rule->columns = static_cast<RuleColumn *>(palloc0(sizeof(RuleColumn) * Max(names.count, 1)));
	for (int i = 0; i < names.count; i++)
		rule->columns[i] = make_column(&rule->dependent, table, names.list[i]);
	List *conjuncts = NIL;
	compile_among(rule, table, &conjuncts);
	rule->queues = queues_of_all(rule->table);
	rule->index_command = missing_index(rule, table, conjuncts);
}

// The context is a child of the current one, so that an error frees it; keep() moves it.
static RowRule *
make_rule(const RowChoice &choice, const Names &names, const char *by, const char *path)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "queue_ext unique rule", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Relation table = table_open(choice.table, NoLock);
	error::debug_compiling_rule(RelationGetRelationName(table));
	catalog::check_not_distributed(choice.table);
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

// Returns a valid rule for the choice and moves it to the front; null if there is none.
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

// Moves the rule into the cache, which then may be beyond its limit.
static void
keep(RowRule *rule)
{
	MemoryContextSetParent(rule->context, CacheMemoryContext);
	rule->has_grown = true;
	rule->next = rules;
	rules = rule;
	// Keeps the new rule, even if it is too large, or valid for this call only.
	rule->use_count++;
	tidy();
	rule->use_count--;
}

// The search_path is part of the cache key only if there is an "among" to compile under it.
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

} // namespace queue_ext::unique
