// plan.cpp - see plan.hpp.

#include "../postgres.hpp"

#include "plan.hpp"

#include "../compat.hpp"
#include "../error.hpp"
#include "own_text.hpp"
#include "plan_tree.hpp"
#include "planner_hook.hpp"
#include "search_path.hpp"

namespace queue_ext::statement {

// Never reset: a caller compares two readings.
static uint64 schema_changes = 0;

// The hash value does not matter: any schema may have been renamed into a name that a text has.
static void
on_schema_change(Datum, compat::SysCacheId, uint32)
{
	schema_changes++;
}

uint64
schema_change_count()
{
	return schema_changes;
}

void
register_planning()
{
	register_planner_hook();
	CacheRegisterSyscacheCallback(NAMESPACEOID, on_schema_change, static_cast<Datum>(0));
}

// Looks the name up without a lock: the caller's lock on the table keeps its name, and a message
// about a schema leads to another check.
void
check_named(const Named &named)
{
	const RangeVar *name =
		makeRangeVarFromNameList(textToQualifiedNameList(cstring_to_text(named.name)));
	if (!OidIsValid(named.table) || RangeVarGetRelid(name, NoLock, true) != named.table)
		error::gone_during_command(named.name);
}

// A statement is one command, so its SPI plan has one source.
static CachedPlanSource *
source_of(SPIPlanPtr plan)
{
	return static_cast<CachedPlanSource *>(linitial(SPI_plan_get_plan_sources(plan)));
}

// Sets the flag that an invalidation message sets; plancache.c analyzes the query again when it is
// asked for a plan.
void
parse_again(SPIPlanPtr plan)
{
	source_of(plan)->is_valid = false;
}

namespace {

// For each SPI plan, the generation of the generic plan that make_generic_plan() made. A plan that
// plancache.c has made since, by itself, has another generation.
struct GenericPlan
{
	SPIPlanPtr plan; // the hash key
	int generation;
};

} // namespace

// Grows with the statements that this backend has prepared; forget_plan() removes an entry.
static HTAB *generic_plans = nullptr;

// Enters the plan if it is not known, with a generation that no plan has.
static GenericPlan *
generic_plan_of(SPIPlanPtr plan)
{
	if (generic_plans == nullptr) {
		HASHCTL control{};
		control.keysize =
			sizeof(GenericPlan::plan); // NOLINT(bugprone-sizeof-expression): the pointer is the key
		control.entrysize = sizeof(GenericPlan);
		generic_plans =
			hash_create("queue_ext generic plans", 64, &control, HASH_ELEM | HASH_BLOBS);
	}
	bool is_found;
	auto *entry =
		static_cast<GenericPlan *>(hash_search(generic_plans, &plan, HASH_ENTER, &is_found));
	if (!is_found)
		entry->generation = -1;
	return entry;
}

void
forget_plan(SPIPlanPtr plan)
{
	if (generic_plans != nullptr)
		hash_search(generic_plans, &plan, HASH_REMOVE, nullptr);
}

// Whether the current generic plan is the one that make_generic_plan() made, and plancache.c will
// use it: the conditions of RevalidateCachedQuery() and CheckCachedPlan().
static bool
is_planned(const CachedPlanSource *source, const GenericPlan *entry)
{
	const CachedPlan *plan = source->gplan;
	if (!source->is_valid || plan == nullptr || !plan->is_valid ||
		plan->generation != entry->generation)
		return false;
	if (source->dependsOnRLS &&
		(source->rewriteRoleId != GetUserId() || source->rewriteRowSecurity != row_security))
		return false;
	if (plan->dependsOnRole && plan->planRoleId != GetUserId())
		return false;
	return !TransactionIdIsValid(plan->saved_xmin) ||
		   TransactionIdEquals(plan->saved_xmin, TransactionXmin);
}

// Makes plancache.c produce a plan and take the locks that its execution needs; the transaction
// keeps the locks. Waiting for one may accept messages that invalidate the plan.
static void
take_locks(SPIPlanPtr plan)
{
	CachedPlan *cached = SPI_plan_get_cached_plan(plan);
	if (cached != nullptr)
		ReleaseCachedPlan(cached, CurrentResourceOwner);
}

// Settings for planning, whatever the session's are. JIT is off because the cost that the planner
// adds for a disabled node would exceed jit_above_cost.
static constexpr Setting ordered_settings[] = {
	{"enable_seqscan", "off"},   {"enable_bitmapscan", "off"},
	{"enable_sort", "off"},      {"enable_hashjoin", "off"},
	{"enable_mergejoin", "off"}, {"enable_memoize", "off"},
	{"enable_indexscan", "on"},  {"enable_nestloop", "on"},
	{"enable_tidscan", "on"},    {"jit", "off"},
};
// Settings for planning, whatever the session's are, of a plan that sorts what bitmap scans find. JIT is off
// because the cost that the planner adds for a disabled node would exceed jit_above_cost.
static constexpr Setting bitmap_settings[] = {
	{"enable_seqscan", "off"},
	{"enable_indexscan", "off"},
	{"enable_indexonlyscan", "off"},
	{"enable_hashjoin", "off"},
	{"enable_mergejoin", "off"},
	{"enable_memoize", "off"},
	{"enable_bitmapscan", "on"},
	{"enable_sort", "on"},
	{"enable_nestloop", "on"},
	{"enable_tidscan", "on"},
	{"jit", "off"},
};

// Makes the generic plan again under these settings. On ERROR the GUC nest level ends with the
// subtransaction or transaction.
template <size_t count>
static void
make_plan(SPIPlanPtr plan, const Setting (&settings)[count])
{
	const int level = NewGUCNestLevel();
	set_reading_settings(bare_search_path);
	for (const Setting &setting : settings)
		set_locally(setting);
	if (source_of(plan)->gplan != nullptr)
		source_of(plan)->gplan->is_valid = false;
	take_locks(plan);
	AtEOXact_GUC(true, level);
}

// The planned statements.
static const List *
statements_of(SPIPlanPtr plan)
{
	return source_of(plan)->gplan->stmt_list;
}

// The statement that finds its rows by the row key, or null.
static const PlannedStmt *
find_by_row_key(SPIPlanPtr plan)
{
	ListCell *cell;
	foreach (cell, statements_of(plan)) {
		const auto *statement = lfirst_node(PlannedStmt, cell);
		if (is_by_row_key(statement->commandType))
			return statement;
	}
	return nullptr;
}

// Makes the plan, and again without each loose index. If then no index serves, the first plan is made
// again: under row security a policy may have to come before the comparison of the key.
template <size_t count>
static void
make_keyed_plan(SPIPlanPtr plan, const Setting (&settings)[count])
{
	const int hidden_before = hidden_indexes();
	for (;;) {
		CHECK_FOR_INTERRUPTS();
		make_plan(plan, settings);
		const PlannedStmt *statement = find_by_row_key(plan);
		if (statement == nullptr)
			return;
		const KeyScans scans = key_scans_of(statement);
		if (scans.reads_all && hidden_indexes() > hidden_before)
			break;
		if (!OidIsValid(scans.loose_index))
			return;
		if (!hide(scans.loose_index, statement->commandType))
			break;
	}
	show_again(hidden_before);
	make_plan(plan, settings);
}

namespace {

// Where the index scans of a fill behind a cursor may begin.
enum class Start {
	at_cursor, // if the statement has one
	anywhere,
};

// What came of a plan with the order from an index.
struct InOrder
{
	bool is_served;
	bool is_any_loose; // an index was hidden as it leads to rows before the cursor
};

} // namespace

// Plans with the order from an index, and hides one useless index after the other; also those that
// do not begin where they should.
static InOrder
plan_in_order(SPIPlanPtr plan, Access access, Start start)
{
	InOrder result{};
	for (;;) {
		make_keyed_plan(plan, ordered_settings);
		const RowSource rows = row_source_of(statements_of(plan));
		if (rows.limit == nullptr) {
			result.is_served = true;
			return result;
		}
		const Verdict verdict = judge(rows.limit, access);
		Oid useless = verdict.useless_index;
		if (verdict.is_served && start == Start::at_cursor) {
			useless = find_loose_index(rows.limit);
			result.is_any_loose |= OidIsValid(useless);
		}
		if (!OidIsValid(useless) || !hide(useless, CMD_SELECT)) {
			result.is_served = verdict.is_served && !reads_ahead(rows.limit);
			return result;
		}
	}
}

// An index that leads to rows before the cursor may cost as little by the planner's estimates, but
// the plan reads all that stands in front. So it is used only if no other serves.
static bool
plan_behind_cursor(SPIPlanPtr plan, Access access)
{
	const InOrder tight = plan_in_order(plan, access, Start::at_cursor);
	if (tight.is_served || !tight.is_any_loose)
		return tight.is_served;
	show_again(0);
	return plan_in_order(plan, access, Start::anywhere).is_served;
}

namespace {

// What a claim costs that passes by rows that are not pending.
struct PassingCost
{
	double expected; // where they are evenly spread, as the planner assumes
	double worst;    // where they all come before the first that is pending; or unknown_cost
};

} // namespace

// An index scan in the order, if there is an index that has it.
static PassingCost
plan_passing(SPIPlanPtr plan)
{
	make_keyed_plan(plan, ordered_settings);
	const RowSource rows = row_source_of(statements_of(plan));
	if (rows.limit == nullptr)
		return {0, unknown_cost};
	return {rows.limit->total_cost, passing_cost(rows.limit, rows.range_table)};
}

// Bitmap scans of indexes that restrict, and a sort. Returns the cost, which is that of all pending
// rows, or unknown_cost if no index restricts.
static double
plan_with_bitmap(SPIPlanPtr plan)
{
	make_keyed_plan(plan, bitmap_settings);
	const RowSource rows = row_source_of(statements_of(plan));
	if (rows.limit == nullptr)
		return 0;
	return judge(rows.limit, Access::restricted).is_served ? rows.limit->total_cost : unknown_cost;
}

// If nothing serves, there are two ways with all indexes visible: to read all pending rows first, or
// to pass by those that are not. The choice is the one that is wrong by the smaller factor: passing
// by may cost worst / reading times as much as reading, and reading reading / expected times as much
// as passing by.
static void
plan_claim(SPIPlanPtr plan, Access access)
{
	if (plan_behind_cursor(plan, access))
		return;
	show_again(0);
	const PassingCost passing = plan_passing(plan);
	show_again(0);
	const double reading = plan_with_bitmap(plan);
	if (reading < unknown_cost && passing.expected * passing.worst >= reading * reading)
		return;
	show_again(0);
	(void) plan_passing(plan);
}

static void
plan_by(SPIPlanPtr plan, Access access)
{
	if (access == Access::by_tid)
		make_plan(plan, ordered_settings);
	else if (access == Access::by_key || access == Access::by_values ||
			 access == Access::by_row_key || access == Access::by_kind)
		make_keyed_plan(plan, ordered_settings);
	else
		plan_claim(plan, access);
}

// False where a message about a schema came while the statement was analyzed and planned: a name
// may have meant another table then, so the statement is analyzed again.
static bool
make_generic_plan(SPIPlanPtr plan, Access access, const Tables &tables)
{
	const uint64 changes_before = schema_changes;
	with_hiding(access, tables.leaf, [&] { plan_by(plan, access); });
	for (int i = 0; i < tables.count; i++)
		check_named(tables.list[i]);
	if (schema_changes != changes_before) {
		parse_again(plan);
		return false;
	}
	// Looked up only now: planning may have prepared or discarded other plans.
	generic_plan_of(plan)->generation = source_of(plan)->gplan->generation;
	return true;
}

// Repeated, since taking the plan's locks may accept messages that invalidate it.
void
keep_generic_plan(SPIPlanPtr plan, Access access, const Tables &tables)
{
	// With all locks held no message comes between here and the execution, so the plan that is
	// executed was analyzed and made here. The exception is debug_discard_caches: the query is
	// analyzed again when it is executed, under the caller's path. Its names have their schemas,
	// except the operators behind NULLIF and the like in a fragment. So after these tries the
	// statement runs as it is.
	constexpr int tries = 10;
	CachedPlanSource *source = source_of(plan);
	for (int i = 0; i < tries; i++) {
		CHECK_FOR_INTERRUPTS();
		if (!is_planned(source, generic_plan_of(plan)) && !make_generic_plan(plan, access, tables))
			continue;
		compat::set_search_path_current(source);
		take_locks(plan);
		if (is_planned(source, generic_plan_of(plan)))
			return;
	}
}

// As keep_generic_plan(), for callers who do not run the statement then.
static void
make_plan_alone(SPIPlanPtr plan, Access access, const Tables &tables)
{
	without_text(plan, {}, [&] { keep_generic_plan(plan, access, tables); });
}

bool
is_served(SPIPlanPtr plan, Access access, const Tables &tables)
{
	make_plan_alone(plan, access, tables);
	const RowSource rows = row_source_of(statements_of(plan));
	return rows.limit == nullptr ||
		   (judge(rows.limit, access).is_served && !reads_ahead(rows.limit));
}

List *
index_reads_of(SPIPlanPtr plan, Access access, const Tables &tables)
{
	make_plan_alone(plan, access, tables);
	const RowSource rows = row_source_of(statements_of(plan));
	return rows.limit == nullptr ? NIL : index_reads_of(rows.limit, rows.range_table);
}

double
estimated_rows(SPIPlanPtr plan, Access access, const Tables &tables)
{
	make_plan_alone(plan, access, tables);
	return linitial_node(PlannedStmt, statements_of(plan))->planTree->plan_rows;
}

} // namespace queue_ext::statement
