// compiled_claim.cpp - see compiled_claim.hpp.

#include "../postgres.hpp"

#include "compiled_claim.hpp"

#include "../array.hpp"
#include "../catalog/column.hpp"
#include "../catalog/kept.hpp"
#include "../catalog/named_dependency.hpp"
#include "../catalog/owner.hpp"
#include "../catalog/row_key.hpp"
#include "../catalog/version.hpp"
#include "../definition/compiled.hpp"
#include "../definition/name.hpp"
#include "../definition/queue_indexes.hpp"
#include "../definition/registry.hpp"
#include "../ring/cursor_form.hpp"
#include "../ring/shared_memory.hpp"
#include "../row/write.hpp"
#include "../statement/search_path.hpp"
#include "../stats/shared_table.hpp"
#include "fired_triggers.hpp"
#include "pending_clock.hpp"

namespace queue_ext::claim {

namespace cursor = ring::cursor;
using catalog::find_column;
using definition::Compiled;
using definition::Definition;
using definition::Fragment;
using definition::FragmentKind;
using ring::Ring;
using ring::Stamp;

// Whether the column may be null in a child: before PostgreSQL 18 a child need not keep the NOT NULL
// of its parent.
static bool
is_null_in_leaf(const Leaves &leaves, const char *name)
{
	bool is_nullable = false;
	for (int i = 0; i < leaves.count; i++) {
		HeapTuple tuple = SearchSysCacheAttName(leaves.tables[i], name);
		if (!HeapTupleIsValid(tuple))
			continue; // the table is gone
		is_nullable |= !reinterpret_cast<Form_pg_attribute>(GETSTRUCT(tuple))->attnotnull;
		ReleaseSysCache(tuple);
	}
	return is_nullable;
}

// The columns of the order; none if a cursor cannot hold one of them.
static void
add_order(RingClaim *claim, const Compiled &compiled, TupleDesc descriptor, const Leaves &leaves)
{
	const int count = compiled.order_count;
	claim->order_columns = allocate_in<definition::OrderColumn>(claim->context, count);
	claim->cursor_columns = allocate_in<cursor::Column>(claim->context, count);
	claim->runs = allocate_in<int>(claim->context, count + 1);
	int runs = 0;
	for (int i = 0; i < count; i++) {
		const definition::OrderColumn &column = compiled.order_columns[i];
		const FormData_pg_attribute *attribute = TupleDescAttr(descriptor, column.number - 1);
		if (!ring::find_form(attribute, &claim->cursor_columns[i]) ||
			is_null_in_leaf(leaves, NameStr(attribute->attname)))
			return;
		claim->order_columns[i] = column;
		if (i == 0 || column.is_descending != compiled.order_columns[i - 1].is_descending)
			claim->runs[runs++] = i;
	}
	claim->runs[runs] = count;
	claim->run_count = runs;
	claim->order_count = count;
}

// The digest of what RingKey::stamp covers. Numbers end in a comma and each text follows its
// length, so that no two definitions give the same input.
static Stamp
stamp_of(const RingClaim *claim, const Definition *definition, Relation table, const Leaves &leaves,
		 Node *pending, List *policies)
{
	const TupleDesc descriptor = RelationGetDescr(table);
	const Compiled &compiled = *definition->compiled;
	const char *order = compiled.order_by == nullptr ? "" : compiled.order_by;
	StringInfoData text;
	initStringInfo(&text);
	appendStringInfo(&text, "%u,%d,", table->rd_rel->relfilenode,
					 static_cast<int>(definition->claim_mode));
	appendStringInfo(&text, "%zu,%s", strlen(order), order);
	catalog::add_expression(&text, pending);
	catalog::add_expression(&text, reinterpret_cast<Node *>(policies));
	appendStringInfo(&text, "%d,", descriptor->natts);
	for (int i = 0; i < descriptor->natts; i++) {
		const Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
		appendStringInfo(&text, "%u,%d,%u,", attribute->atttypid, attribute->atttypmod,
						 attribute->attcollation);
	}
	for (int i = 0; i < claim->order_count; i++)
		appendStringInfo(&text, "%d,", claim->order_columns[i].number);
	appendStringInfo(&text, "%d,%d,", claim->ready_at, claim->expiry.expires_at);
	for (int i = 0; i < leaves.count; i++)
		appendStringInfo(&text, "%u,%u,", leaves.tables[i],
						 catalog::file_of(leaves.tables[i], nullptr));
	const Datum digest = DirectFunctionCall1(
		sha256_bytea, PointerGetDatum(cstring_to_text_with_len(text.data, text.len)));
	Stamp stamp;
	memcpy(stamp.bytes, VARDATA_ANY(DatumGetPointer(digest)), sizeof(stamp.bytes));
	return stamp;
}

// Whether the expression has a parameter, a function such as CURRENT_TIMESTAMP, or a sub-select.
static bool
is_variable(Node *node, void *context)
{
	if (node == nullptr)
		return false;
	return IsA(node, Param) || IsA(node, SQLValueFunction) || IsA(node, SubLink) ||
		   compat::walk_tree(node, is_variable, context);
}

// Whether the expression's value depends on nothing but the row.
static bool
is_timeless(Node *expression)
{
	return !is_variable(expression, nullptr) && !contain_mutable_functions(expression);
}

// Compiles what this extension has written itself, over the row; label: what it is, for the context of errors.
static definition::CompiledFragment
compile_own(const Definition *definition, Relation table, const char *text, FragmentKind kind,
			const char *label)
{
	const Fragment fragment{text, kind, label, definition->name, false};
	return definition::compile(fragment, table, statement::bare_search_path);
}

// Compiles the expression of row_key_text(), as a part of a condition, since only fragments can be
// compiled.
static ExprState *
prepare_row_key(const Definition *definition, Relation table, MemoryContext context)
{
	const catalog::RowKey &row_key = definition->compiled->row_key;
	if (!row_key.has_key() || OidIsValid(catalog::type_without_text(row_key)))
		return nullptr; // the statement raises the error, if there is one
	const char *row = quote_identifier(RelationGetRelationName(table));
	const definition::CompiledFragment compiled = compile_own(
		definition, table, psprintf("(%s) is not null", catalog::row_key_text(row_key, row)),
		FragmentKind::condition, "identity");
	if (compiled.expression == nullptr || !IsA(compiled.expression, NullTest))
		return nullptr;
	return row::prepare_expression(
		reinterpret_cast<Node *>(castNode(NullTest, compiled.expression)->arg), context);
}

// Compiles the defaults of the columns that a job's sender does not give. Null if a default is too
// involved.
static const Defaults *
compile_defaults(const DirectClaim *claim, Definition *definition, Relation table)
{
	const TupleDesc descriptor = row::copy_columns(table);
	const ManagedTable &managed = claim->managed;
	auto *defaults = allocate_in<Defaults>(claim->context, 1);
	defaults->columns = allocate_in<row::ColumnValue>(claim->context, descriptor->natts);
	for (int i = 0; i < descriptor->natts; i++) {
		const Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
		const AttrNumber number = attribute->attnum;
		if (attribute->attisdropped || number == managed.payload || number == managed.priority ||
			number == managed.run_at || number == managed.max_attempts)
			continue;
		Node *expression = build_column_default(table, number);
		catalog::depend_on_expression(&definition->dependent, expression);
		ExprState *value =
			expression == nullptr ? nullptr : row::prepare_expression(expression, claim->context);
		if (expression != nullptr && value == nullptr)
			return nullptr;
		const bool is_domain = getBaseType(attribute->atttypid) != attribute->atttypid;
		if (value == nullptr && !attribute->attnotnull && !is_domain)
			continue;
		if (value == nullptr)
			return nullptr; // the INSERT raises the error, if there is one
		defaults->columns[defaults->count++] = {number, value, attribute->attnotnull};
	}
	return defaults;
}

// Whether the table's primary key is the id, with an index that can be read for it.
static bool
is_keyed_by(Relation table, AttrNumber id)
{
	const Oid key = compat::primary_key_of(table);
	if (!OidIsValid(key))
		return false;
	Relation index = index_open(key, AccessShareLock);
	const bool is_it = index->rd_rel->relam == BTREE_AM_OID && index->rd_index->indnkeyatts == 1 &&
					   index->rd_index->indkey.values[0] == id && index->rd_index->indisvalid;
	index_close(index, AccessShareLock);
	return is_it;
}

// Finds the columns that every managed queue has.
static void
find_columns(CompiledClaim *claim, Relation table)
{
	ManagedTable *managed = &claim->managed;
	managed->id = find_column(table, "id", INT8OID);
	managed->attempt = find_column(table, "attempt", INT4OID);
	managed->leased_until = find_column(table, "leased_until", TIMESTAMPTZOID);
	managed->priority = find_column(table, "priority", INT2OID);
	managed->run_at = find_column(table, "run_at", TIMESTAMPTZOID);
	managed->max_attempts = find_column(table, "max_attempts", INT4OID);
	managed->payload = find_column(table, "payload", JSONBOID);
	claim->claimed_at = find_column(table, "claimed_at", TIMESTAMPTZOID);
	managed->unique_key = find_column(table, "unique_key", TEXTOID);
	managed->dead_at = find_column(table, "dead_at", TIMESTAMPTZOID);
	managed->kind = find_column(table, "kind", TEXTOID);
	managed->released = find_column(table, "released", INT4OID);
	managed->expires_at = find_column(table, "expires_at", TIMESTAMPTZOID);
	const AttrNumber found[] = {managed->id,       managed->attempt, managed->leased_until,
								managed->priority, managed->run_at,  managed->max_attempts,
								managed->payload};
	managed->has_columns = true;
	for (const AttrNumber number : found)
		managed->has_columns &= number != InvalidAttrNumber;
}

// Finds the columns that an attached queue has named. One that was dropped since, or changed, is none.
static void
find_age_columns(CompiledClaim *claim, const definition::AgeColumns &ages, Relation table)
{
	if (ages.ready_at != nullptr)
		claim->ready_at = find_column(table, ages.ready_at, TIMESTAMPTZOID);
	if (ages.claimed_at != nullptr)
		claim->claimed_at = find_column(table, ages.claimed_at, TIMESTAMPTZOID);
}

// A job in an archived queue is not removed but moved, which takes a statement.
static void
fill_in_managed(DirectClaim *claim, Definition *definition, Relation table)
{
	if (find_trigger(table, TRIGGER_TYPE_INSERT, nullptr) == nullptr)
		claim->defaults = compile_defaults(claim, definition, table);
	claim->can_remove = !definition->is_archived &&
						find_trigger(table, TRIGGER_TYPE_DELETE, nullptr) == nullptr &&
						is_keyed_by(table, claim->managed.id);
}

// Whether no two rows are equal in the order.
static bool
has_total_order(const RingClaim *claim, Relation table)
{
	auto *columns = static_cast<AttrNumber *>(palloc(sizeof(AttrNumber) * claim->order_count));
	for (int i = 0; i < claim->order_count; i++)
		columns[i] = claim->order_columns[i].number;
	return catalog::has_key_among(table, columns, claim->order_count);
}

static void
fill_in_key(RingClaim *claim, const Definition *definition, Relation table, const Leaves &leaves,
			Node *pending, List *policies)
{
	claim->key.database = MyDatabaseId;
	claim->key.table = definition->source;
	claim->key.stamp = stamp_of(claim, definition, table, leaves, pending, policies);
	// Offers go to one ring of a table.
	claim->key.is_sorted = claim->managed.has_columns && OidIsValid(claim->managed.index) &&
						   claim->order_count > 0 && !claim->has_policies &&
						   has_total_order(claim, table);
	namestrcpy(&claim->key.queue, definition->name);
}

// Whether a rule rewrites an UPDATE of the table to something that need not know TIDs.
static bool
has_update_rule(Relation table)
{
	const RuleLock *rules = table->rd_rules;
	for (int i = 0; rules != nullptr && i < rules->numLocks; i++)
		if (rules->rules[i]->event == CMD_UPDATE)
			return true;
	return false;
}

// Whether the table is a heap, which need not be open.
static bool
is_heap(Oid table)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	if (!HeapTupleIsValid(tuple))
		return false;
	const auto *form = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
	const bool is_it = form->relkind == RELKIND_RELATION && form->relam == HEAP_TABLE_AM_OID;
	ReleaseSysCache(tuple);
	return is_it;
}

// Finds the tables that have the rows: partitions, or the table and its children. A change of one
// makes the definition invalid. Returns what keeps one of them from the ring.
static Obstacle
find_leaves(const CompiledClaim *claim, Definition *definition, Leaves *leaves)
{
	List *all = find_all_inheritors(definition->source, NoLock, nullptr);
	leaves->tables = allocate_in<Oid>(claim->context, list_length(all));
	list_sort(all, list_oid_cmp);
	ListCell *cell;
	foreach (cell, all) {
		const Oid table = lfirst_oid(cell);
		catalog::depend_on_relation(&definition->dependent, table);
		if (get_rel_relkind(table) == RELKIND_PARTITIONED_TABLE)
			continue;
		if (!is_heap(table))
			return {psprintf("%s is not a heap table", definition::qualified_name(table)),
					"Attach a queue to each heap table."};
		leaves->tables[leaves->count++] = table;
	}
	if (leaves->count > prepared_leaf_count)
		return {psprintf("the table has more than %d parts with rows", prepared_leaf_count),
				"Attach a queue to each part, or to groups of them."};
	return {};
}

// What keeps claims of the queue from its ring.
static Obstacle
find_ring_obstacle(const CompiledClaim *claim, Definition *definition, const Compiled &compiled,
				   Relation table, Leaves *leaves)
{
	if (has_update_rule(table))
		return {"the table has a rule on UPDATE", "Replace the rule with a trigger."};
	if (definition->claim_mode != definition::ClaimMode::update && !compiled.row_key.has_key())
		return {"the table has no key", "Add a primary key."};
	return row::has_heap(table) ? Obstacle{} : find_leaves(claim, definition, leaves);
}

// A virtual generated column is not stored.
static bool
is_order_readable(const RingClaim *claim, TupleDesc descriptor, const Leaves &leaves)
{
	constexpr char virtual_column = 'v';
	bool is_readable = claim->order_count > 0 && leaves.tables == nullptr && !claim->key.is_sorted;
	for (int i = 0; i < claim->order_count; i++)
		is_readable &=
			TupleDescAttr(descriptor, claim->order_columns[i].number - 1)->attgenerated !=
			virtual_column;
	return is_readable;
}

// Reads the count first: an end that the registry does not show yet is counted later.
void
look_for_neighbours(RingClaim *claim, const Definition *definition)
{
	claim->ended = pg_atomic_read_u32(&ring::get_wakes(definition->source)->ended);
	claim->is_beside = false;
	bool is_there = false;
	ListCell *cell;
	foreach (cell, definition::find_names(definition->source)) {
		const bool is_own = strcmp(static_cast<char *>(lfirst(cell)), definition->name) == 0;
		is_there |= is_own;
		claim->is_beside |= !is_own;
	}
	if (!is_there)
		claim->ended--; // is no count any more
}

// What claims from the ring need, on either path.
static void
fill_in_ring(RingClaim *claim, const Definition *definition, const Compiled &compiled,
			 Relation table, const Leaves &leaves, Node *pending, List *policies)
{
	const Bitmapset *written = row::with_generated(table, compiled.written);
	MemoryContext old = MemoryContextSwitchTo(claim->context);
	claim->written = bms_copy(written);
	MemoryContextSwitchTo(old);
	claim->is_timeless = is_timeless(compiled.condition);
	claim->has_policies = table->rd_rel->relrowsecurity;
	if (definition->is_managed) {
		find_columns(claim, table);
		claim->expiry = expiry_columns(definition, definition->source);
	}
	add_order(claim, compiled, RelationGetDescr(table), leaves);
	fill_in_key(claim, definition, table, leaves, pending, policies);
	claim->has_readable_order = is_order_readable(claim, RelationGetDescr(table), leaves);
	claim->table_version = catalog::table_version(definition->source);
	look_for_neighbours(claim, definition);
	// Claims of another queue on the table fire no trigger, nor does a statement on a child.
	claim->has_wake_trigger =
		has_wake_trigger(table) && leaves.tables == nullptr && !claim->is_beside;
}

static Obstacle
opaque_obstacle(const char *where, const char *what)
{
	return {psprintf("%s has %s, which may depend on its caller", where, what),
			"Declare a function immutable if it is, or write it as one SQL expression."};
}

static Obstacle
obstacle_in(const char *fragment, const char *involved)
{
	return {psprintf("%s has %s", fragment, involved),
			"Direct claims can evaluate PostgreSQL's own functions, and immutable ones."};
}

// What a claim without a statement needs. Returns what keeps claims from being direct.
static Obstacle
fill_in_direct(DirectClaim *claim, Definition *definition, const Compiled &compiled, Relation table,
			   const Leaves &leaves)
{
	const bool writes = definition->claim_mode == definition::ClaimMode::update;
	if (leaves.tables != nullptr)
		return {table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ? "the table is partitioned"
																	: "the table has children",
				nullptr};
	if (!row::has_unstored(table))
		claim->pending = row::prepare_condition(compiled.condition, claim->context);
	if (row::find_special(table) != nullptr)
		return {row::find_special(table), nullptr};
	if (definition->is_managed && !claim->managed.has_columns)
		return {"columns of the managed queue's table have been changed", nullptr};
	const char *trigger =
		writes ? find_trigger(table, TRIGGER_TYPE_UPDATE, claim->written) : nullptr;
	if (trigger != nullptr)
		return {psprintf("%s fires for the claim's update", trigger),
				"A trigger that is created for UPDATE OF columns that \"on_claim\" does not write "
				"does not fire."};
	claim->has_foreign_key = writes && RelationGetFKeyList(table) != NIL;
	if (claim->pending == nullptr)
		return obstacle_in("\"pending\"", row::find_involved(compiled.condition));
	if (!writes) {
		claim->row_key = prepare_row_key(definition, table, claim->context);
		if (claim->row_key == nullptr)
			return {"the key has a type with user-defined functions", nullptr};
		return {};
	}
	const char *involved = row::prepare_columns(compiled.assignments, table, claim->context,
												&claim->columns, &claim->column_count);
	if (involved != nullptr)
		return obstacle_in("\"on_claim\"", involved);
	catalog::depend_on_checks(&definition->dependent, table);
	if (!row::prepare_checks(table, &claim->checks, claim->context))
		return {"a CHECK constraint is too involved", nullptr};
	if (definition->is_managed && !claim->has_policies)
		fill_in_managed(claim, definition, table);
	return {};
}

// Finds when rows become pending by the clock. A claim knows one ring: where callers differ, others would not hear of
// it.
static void
add_due(RingClaim *claim, const Definition *definition, const Compiled &compiled, Relation table,
		const Leaves &leaves)
{
	if (definition->is_managed || claim->is_timeless || claim->pending == nullptr ||
		claim->has_policies || leaves.tables != nullptr || !is_same_for_all(claim->use_of_caller))
		return;
	const PendingClock clock = find_pending_clock(compiled.condition, RelationGetRelid(table));
	if (clock.due == nullptr)
		return;
	const definition::CompiledFragment compiled_due =
		compile_own(definition, table, clock.due, FragmentKind::order, "pending");
	auto *expression = static_cast<Node *>(linitial(compiled_due.order));
	if (exprType(expression) != TIMESTAMPTZOID)
		return;
	ExprState *state = row::prepare_expression(expression, claim->context);
	if (state == nullptr)
		return;
	auto *due = allocate_in<DueExpression>(claim->context, 1);
	due->state = state;
	due->text = MemoryContextStrdup(claim->context, compiled_due.text);
	due->condition = MemoryContextStrdup(
		claim->context,
		compile_own(definition, table, clock.condition, FragmentKind::condition, "pending").text);
	claim->due = due;
}

// Where the path is portable, what comes after is not filled in.
static void
fill_in(DirectClaim *claim, Leaves *leaves, Definition *definition, const Compiled &compiled,
		Relation table)
{
	depend_on_triggers(definition, table);
	if (definition->is_managed) {
		claim->managed.index = definition::claim_index(definition->source);
		claim->managed.dead_index = definition::dead_index(definition->source);
		claim->managed.kind_index = definition::kind_index(definition->source);
	} else
		find_age_columns(claim, definition->ages, table);
	claim->path = Path::portable;
	claim->obstacle = find_ring_obstacle(claim, definition, compiled, table, leaves);
	if (claim->obstacle.reason != nullptr)
		return;
	Node *pending = flatten(definition, compiled.condition);
	CallerUse use{};
	add_use(&use, definition, pending);
	claim->use_of_caller = copy_use(use, claim->context);
	if (use.opaque != nullptr) {
		claim->obstacle = opaque_obstacle("\"pending\"", use.opaque);
		return;
	}
	List *policies = flat_policies(definition, table);
	CallerUse policies_use{};
	add_policies(&policies_use, definition, policies);
	claim->policies_use = copy_use(policies_use, claim->context);
	fill_in_ring(claim, definition, compiled, table, *leaves, pending, policies);
	claim->obstacle = fill_in_direct(claim, definition, compiled, table, *leaves);
	claim->path = claim->obstacle.reason == nullptr ? Path::direct : Path::tid;
	add_due(claim, definition, compiled, table, *leaves);
}

// The words outlive the scratch context of make_kept().
static void
keep_obstacle(CompiledClaim *claim)
{
	Obstacle *obstacle = &claim->obstacle;
	if (obstacle->reason != nullptr)
		obstacle->reason = MemoryContextStrdup(claim->context, obstacle->reason);
	if (obstacle->hint != nullptr)
		obstacle->hint = MemoryContextStrdup(claim->context, obstacle->hint);
}

// A copy in the claim's own memory.
template <typename T>
static T *
copy_of(const T &claim)
{
	auto *copy = allocate_in<T>(claim.context, 1);
	*copy = claim;
	return copy;
}

// What of it is valid on its path.
static CompiledClaim *
keep_of_path(const DirectClaim &claim, const Leaves &leaves)
{
	switch (claim.path) {
		case Path::direct:
			return copy_of(claim);
		case Path::tid: {
			TidClaim by_tid{};
			static_cast<RingClaim &>(by_tid) = claim;
			by_tid.leaves = leaves;
			return copy_of(by_tid);
		}
		case Path::portable:
			return copy_of(static_cast<const CompiledClaim &>(claim));
	}
	pg_unreachable();
}

// Records what was looked at as dependencies of the definition, so that an invalidation discards
// both.
static const CompiledClaim *
compile(Definition *definition)
{
	const Compiled &compiled = definition::compiled_of(definition);
	CompiledClaim *kept = nullptr;
	catalog::make_kept("queue_ext compiled claim", definition->context, [&](MemoryContext context) {
		DirectClaim claim{};
		claim.context = context;
		Leaves leaves{};
		catalog::make_dependent(&definition->dependent, [&] {
			Relation table = table_open(definition->source, AccessShareLock);
			fill_in(&claim, &leaves, definition, compiled, table);
			keep_obstacle(&claim);
			table_close(table, AccessShareLock);
		});
		kept = keep_of_path(claim, leaves);
	});
	definition::beside<ClaimsKept>(definition)->compiled = kept;
	definition::note_growth(definition);
	return kept;
}

// Whether the error is one of the definition, for all callers and not for a while.
static bool
is_of_definition(int code)
{
	switch (ERRCODE_TO_CATEGORY(code)) {
		case ERRCODE_TRANSACTION_ROLLBACK:
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_PROGRAM_LIMIT_EXCEEDED: // it may be the depth of the caller's stack
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_INTERNAL_ERROR: // such as of an object that is being dropped
			return false;
		default:
			return code != ERRCODE_INSUFFICIENT_PRIVILEGE && code != ERRCODE_LOCK_NOT_AVAILABLE;
	}
}

// queue_health() compiles claims for few callers, and tells the others what was noted here.
const CompiledClaim *
compiled_claim_of(Definition *definition)
{
	const auto *kept = definition::beside<ClaimsKept>(definition);
	if (kept->compiled != nullptr)
		return kept->compiled;
	const stats::Place place = stats::place_of(definition);
	const CompiledClaim *claim = nullptr;
	PG_TRY();
	{
		claim = compile(definition);
	}
	PG_CATCH();
	{
		if (is_of_definition(geterrcode()))
			note_claims(place, stats::Claims::broken);
		PG_RE_THROW();
	}
	PG_END_TRY();
	note_claims(place, claim->path == Path::portable ? stats::Claims::by_statement
													 : stats::Claims::from_ring);
	return claim;
}

bool
is_leaf(const RingClaim *claim, Oid table)
{
	const Leaves leaves = leaves_of(claim);
	if (leaves.tables == nullptr)
		return table == claim->key.table;
	return bsearch(&table, leaves.tables, static_cast<size_t>(leaves.count), sizeof(Oid),
				   oid_cmp) != nullptr;
}

bool
has_policies_for_caller(const Definition *definition)
{
	return ring_claim_of(definition)->has_policies &&
		   check_enable_rls(definition->source, InvalidOid, true) == RLS_ENABLED;
}

// Of callers to whom the table's policies do not apply, while there are others.
static constexpr uint64 unrestricted_variant = 1;

Variant
set_variant(Definition *definition, const Request &request)
{
	RingClaim *claim = ring_claim_of(definition);
	const Variant former{claim->key.variant, claim->kinds};
	uint64 variant = variant_of(claim->use_of_caller, request, 0);
	if (has_policies_for_caller(definition))
		variant = variant_of(claim->policies_use, request, variant);
	else if (claim->has_policies)
		variant = Max(variant, unrestricted_variant);
	if (request.kinds != nullptr)
		variant = Max(hash_combine64(variant, request.kinds->digest), unrestricted_variant + 1);
	claim->key.variant = variant;
	claim->kinds = request.kinds;
	return former;
}

void
restore_variant(Definition *definition, const Variant &former)
{
	ring_claim_of(definition)->key.variant = former.number;
	ring_claim_of(definition)->kinds = former.kinds;
}

Ring *
ring_of(Definition *definition)
{
	if (compiled_claim_of(definition)->path == Path::portable)
		return nullptr;
	RingClaim *claim = ring_claim_of(definition);
	if (claim->kinds != nullptr && !OidIsValid(claim->managed.kind_index))
		return nullptr;
	if (claim->ring == nullptr || !seems_of(claim->ring, claim->key)) {
		claim->ring = get_ring(claim->key, claim->kinds);
		claim->told = nullptr;
		if (claim->ring != nullptr)
			begin_trust(claim->ring, claim->key, claim->table_version);
	}
	return claim->ring;
}

} // namespace queue_ext::claim
