// compiled_claim.cpp - see compiled_claim.hpp.

#include "../postgres.hpp"

#include "compiled_claim.hpp"

#include "../catalog/row_key.hpp"
#include "../catalog/kept.hpp"
#include "../catalog/owner.hpp"
#include "../definition/compiled.hpp"
#include "../definition/registry.hpp"
#include "../statement/search_path.hpp"
#include "cursor_form.hpp"
#include "shared_memory.hpp"
#include "wake_trigger.hpp"

namespace queue_ext::claim {

using definition::Compiled;
using definition::Definition;
using definition::Fragment;
using definition::FragmentKind;

// Whether the trigger does nothing where only these columns (as pull_varattnos() counts them) are
// written: it is a foreign key's, of other columns, or UPDATE OF others.
static bool
ignores_update(Relation table, const Trigger *trigger, const Bitmapset *written)
{
	bool is_touched = false;
	switch (RI_FKey_trigger_type(trigger->tgfoid)) {
		case RI_TRIGGER_PK:
			return !bms_overlap(written, RelationGetIndexAttrBitmap(table, INDEX_ATTR_BITMAP_KEY));
		case RI_TRIGGER_FK: {
			ListCell *cell;
			foreach (cell, RelationGetFKeyList(table)) {
				const auto *key = static_cast<ForeignKeyCacheInfo *>(lfirst(cell));
				for (int i = 0; i < key->nkeys; i++)
					is_touched |=
						bms_is_member(key->conkey[i] - FirstLowInvalidHeapAttributeNumber, written);
			}
			return !is_touched;
		}
		default:
			for (int i = 0; i < trigger->tgnattr; i++)
				is_touched |=
					bms_is_member(trigger->tgattr[i] - FirstLowInvalidHeapAttributeNumber, written);
			return trigger->tgnattr > 0 && !is_touched;
	}
}

// Whether a trigger other than our own may fire for the event (TRIGGER_TYPE_...); for an update, of
// these columns.
static bool
has_trigger(Relation table, int16 event, const Bitmapset *written)
{
	// A copy, as reading a trigger's function may process an invalidation that frees the original.
	const TriggerDesc *triggers = CopyTriggerDesc(table->trigdesc);
	for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
		const Trigger *trigger = &triggers->triggers[i];
		if ((trigger->tgtype & event) == 0 || trigger->tgenabled == TRIGGER_DISABLED ||
			is_wake_function(trigger->tgfoid))
			continue;
		if (event != TRIGGER_TYPE_UPDATE || !ignores_update(table, trigger, written))
			return true;
	}
	return false;
}

// Whether every INSERT and UPDATE of the table fires the wake-up trigger: unconditionally, for all
// columns, in any session_replication_role.
static bool
has_wake_trigger(Relation table)
{
	constexpr int16 events = TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE;
	const TriggerDesc *triggers = CopyTriggerDesc(table->trigdesc); // as above
	for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
		const Trigger *trigger = &triggers->triggers[i];
		if (is_wake_function(trigger->tgfoid) && (trigger->tgtype & events) == events &&
			trigger->tgnattr == 0 && trigger->tgqual == nullptr &&
			trigger->tgenabled == TRIGGER_FIRES_ALWAYS)
			return true;
	}
	return false;
}

// Zeroed, in the context of the claim; never of size 0.
template <typename T>
static T *
allocate(const CompiledClaim *claim, int count)
{
	return static_cast<T *>(MemoryContextAllocZero(claim->context, sizeof(T) * Max(count, 1)));
}

// False if an expression is too involved to be run without a statement.
static bool
add_columns(CompiledClaim *claim, const List *targets, TupleDesc descriptor)
{
	claim->columns = allocate<ColumnValue>(claim, list_length(targets));
	ListCell *cell;
	foreach (cell, targets) {
		const auto *target = lfirst_node(TargetEntry, cell);
		ExprState *value =
			row::prepare_expression(reinterpret_cast<Node *>(target->expr), claim->context);
		if (value == nullptr)
			return false;
		claim->columns[claim->column_count++] = {
			target->resno, value, TupleDescAttr(descriptor, target->resno - 1)->attnotnull};
	}
	return true;
}

// The columns of the order; none if a cursor cannot hold one of them.
static void
add_order(CompiledClaim *claim, const Compiled &compiled, TupleDesc descriptor)
{
	const int count = list_length(compiled.order_columns);
	claim->direction = compiled.direction;
	claim->order_columns = allocate<AttrNumber>(claim, count);
	claim->cursor_columns = allocate<cursor::Column>(claim, count);
	int i = 0;
	ListCell *cell;
	foreach (cell, compiled.order_columns) {
		const auto number = static_cast<AttrNumber>(lfirst_int(cell));
		if (!find_form(TupleDescAttr(descriptor, number - 1), &claim->cursor_columns[i]))
			return;
		claim->order_columns[i++] = number;
	}
	claim->order_count = count;
}

// Whether no two rows are equal in the order, as it contains the key: only then can a read go on
// behind a row.
static bool
is_total(const CompiledClaim *claim, const catalog::RowKey &row_key)
{
	for (int i = 0; i < row_key.length; i++) {
		bool is_found = false;
		for (int j = 0; j < claim->order_count; j++)
			is_found |= claim->order_columns[j] == row_key.columns[i].number;
		if (!is_found)
			return false;
	}
	return row_key.has_key();
}

// The digest of what RingKey::stamp covers. Numbers end in a comma and each text follows its
// length, so that no two definitions give the same input.
static Stamp
stamp_of(const CompiledClaim *claim, const Definition *definition, Relation table)
{
	const TupleDesc descriptor = RelationGetDescr(table);
	const Compiled &compiled = *definition->compiled;
	const char *order = compiled.order_by == nullptr ? "" : compiled.order_by;
	StringInfoData text;
	initStringInfo(&text);
	appendStringInfo(&text, "%u,%d,%d,", table->rd_rel->relfilenode,
					 static_cast<int>(definition->claim_mode), static_cast<int>(claim->direction));
	appendStringInfo(&text, "%zu,%s%zu,%s", strlen(compiled.pending), compiled.pending,
					 strlen(order), order);
	appendStringInfo(&text, "%d,", descriptor->natts);
	for (int i = 0; i < descriptor->natts; i++) {
		const Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
		appendStringInfo(&text, "%u,%d,%u,", attribute->atttypid, attribute->atttypmod,
						 attribute->attcollation);
	}
	for (int i = 0; i < claim->order_count; i++)
		appendStringInfo(&text, "%d,", claim->order_columns[i]);
	const Datum digest = DirectFunctionCall1(
		sha256_bytea, PointerGetDatum(cstring_to_text_with_len(text.data, text.len)));
	Stamp stamp;
	memcpy(stamp.bytes, VARDATA_ANY(DatumGetPointer(digest)), sizeof(stamp.bytes));
	return stamp;
}

// Whether the expression has a parameter, or a function such as CURRENT_TIMESTAMP.
static bool
is_variable(Node *node, void *context)
{
	if (node == nullptr)
		return false;
	return IsA(node, Param) || IsA(node, SQLValueFunction) ||
		   compat::walk_tree(node, is_variable, context);
}

// Whether the expression's value depends on nothing but the row.
static bool
is_timeless(Node *expression)
{
	return !is_variable(expression, nullptr) && !contain_mutable_functions(expression);
}

// Compiles the expression of row_key_text(), as a part of a condition, since only fragments can be
// compiled.
static ExprState *
prepare_row_key(const Definition *definition, Relation table, MemoryContext context)
{
	const catalog::RowKey &row_key = definition->compiled->row_key;
	if (!row_key.has_key() || OidIsValid(catalog::type_without_text(row_key)))
		return nullptr; // the statement raises what is wrong, if anything
	const char *row = quote_identifier(RelationGetRelationName(table));
	const Fragment fragment{psprintf("(%s) is not null", catalog::row_key_text(row_key, row)),
							FragmentKind::condition, "identity", definition->name, false};
	const definition::CompiledFragment compiled =
		definition::compile(fragment, table, statement::bare_search_path);
	if (compiled.expression == nullptr || !IsA(compiled.expression, NullTest))
		return nullptr;
	return row::prepare_expression(
		reinterpret_cast<Node *>(castNode(NullTest, compiled.expression)->arg), context);
}

// Compiles the defaults of the columns that a job's sender does not give. False if a default is too
// involved.
static bool
add_defaults(CompiledClaim *claim, Relation table)
{
	const TupleDesc descriptor = RelationGetDescr(table);
	claim->defaults = allocate<ColumnValue>(claim, descriptor->natts);
	for (int i = 0; i < descriptor->natts; i++) {
		const Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
		const AttrNumber number = attribute->attnum;
		if (attribute->attisdropped || number == claim->payload || number == claim->priority ||
			number == claim->run_at || number == claim->max_attempts)
			continue;
		Node *expression = build_column_default(table, number);
		ExprState *value =
			expression == nullptr ? nullptr : row::prepare_expression(expression, claim->context);
		if (expression != nullptr && value == nullptr)
			return false;
		const bool is_domain = getBaseType(attribute->atttypid) != attribute->atttypid;
		if (value == nullptr && !attribute->attnotnull && !is_domain)
			continue;
		if (value == nullptr)
			return false; // the INSERT raises what is wrong, if anything
		claim->defaults[claim->default_count++] = {number, value, attribute->attnotnull};
	}
	return true;
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

// InvalidAttrNumber if the column is gone or of another type.
static AttrNumber
find_column(Relation table, const char *name, Oid type)
{
	const AttrNumber number = get_attnum(RelationGetRelid(table), name);
	if (number != InvalidAttrNumber && get_atttype(RelationGetRelid(table), number) == type)
		return number;
	return InvalidAttrNumber;
}

// Finds the columns that every managed queue has. False if the owner has changed them.
static bool
find_columns(CompiledClaim *claim, Relation table)
{
	claim->id = find_column(table, "id", INT8OID);
	claim->attempt = find_column(table, "attempt", INT4OID);
	claim->leased_until = find_column(table, "leased_until", TIMESTAMPTZOID);
	claim->priority = find_column(table, "priority", INT2OID);
	claim->run_at = find_column(table, "run_at", TIMESTAMPTZOID);
	claim->max_attempts = find_column(table, "max_attempts", INT4OID);
	claim->payload = find_column(table, "payload", JSONBOID);
	claim->unique_key = find_column(table, "unique_key", TEXTOID);
	const AttrNumber found[] = {claim->id,       claim->attempt, claim->leased_until,
								claim->priority, claim->run_at,  claim->max_attempts,
								claim->payload};
	for (const AttrNumber number : found)
		if (number == InvalidAttrNumber)
			return false;
	return true;
}

// A job in an archived queue is not removed but moved, which takes a statement.
static void
fill_in_managed(CompiledClaim *claim, const Definition *definition, Relation table)
{
	claim->can_insert =
		!has_trigger(table, TRIGGER_TYPE_INSERT, nullptr) && add_defaults(claim, table);
	claim->can_remove = !definition->is_archived &&
						!has_trigger(table, TRIGGER_TYPE_DELETE, nullptr) &&
						is_keyed_by(table, claim->id);
}

static void
fill_in_key(CompiledClaim *claim, const Definition *definition, Relation table)
{
	claim->key.database = MyDatabaseId;
	claim->key.table = definition->source;
	claim->key.stamp = stamp_of(claim, definition, table);
	claim->key.is_sorted = definition->is_managed && claim->order_count > 0;
	namestrcpy(&claim->key.queue, definition->name);
}

// Triggers are judged by their functions, so a change of one must invalidate the definition.
static void
depend_on_triggers(Definition *definition, Relation table)
{
	const TriggerDesc *triggers = CopyTriggerDesc(table->trigdesc); // as above
	for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++)
		catalog::depend_on_object(&definition->dependent, PROCOID, triggers->triggers[i].tgfoid);
}

// Returns whether claims can be direct; where not, what comes after is not filled in.
static bool
fill_in(CompiledClaim *claim, Definition *definition, const Compiled &compiled, Relation table)
{
	depend_on_triggers(definition, table);
	if (!row::is_plain(table) || (definition->is_managed && !find_columns(claim, table)))
		return false;
	const bool writes = definition->claim_mode == definition::ClaimMode::update;
	claim->written = compiled.written;
	if (writes && has_trigger(table, TRIGGER_TYPE_UPDATE, claim->written))
		return false;
	claim->has_foreign_key = writes && RelationGetFKeyList(table) != NIL;
	claim->pending = row::prepare_condition(compiled.condition, claim->context);
	claim->is_timeless = is_timeless(compiled.condition);
	if (claim->pending == nullptr)
		return false;
	add_order(claim, compiled, RelationGetDescr(table));
	if (!is_total(claim, compiled.row_key))
		claim->order_count = 0;
	fill_in_key(claim, definition, table);
	// Claims of another queue on the table fire no trigger, nor does a statement on a parent table.
	claim->has_wake_trigger = has_wake_trigger(table) &&
							  !definition::has_other_queue(definition->source, definition->name) &&
							  !has_superclass(definition->source);
	if (!writes) {
		claim->row_key = prepare_row_key(definition, table, claim->context);
		return claim->row_key != nullptr;
	}
	if (!add_columns(claim, compiled.assignments, RelationGetDescr(table)) ||
		!row::prepare_checks(RelationGetDescr(table), &claim->checks, claim->context))
		return false;
	if (definition->is_managed)
		fill_in_managed(claim, definition, table);
	return true;
}

// Records what was looked at as dependencies of the definition, so that an invalidation discards
// both.
const CompiledClaim *
compiled_claim_of(Definition *definition)
{
	if (definition->claim != nullptr)
		return definition->claim;
	const Compiled &compiled = definition::compiled_of(definition);
	CompiledClaim *claim = nullptr;
	catalog::make_kept("queue_ext compiled claim", definition->context, [&](MemoryContext context) {
		claim =
			static_cast<CompiledClaim *>(MemoryContextAllocZero(context, sizeof(CompiledClaim)));
		claim->context = context;
		catalog::make_dependent(&definition->dependent, [&] {
			Relation table = table_open(definition->source, AccessShareLock);
			claim->is_direct = fill_in(claim, definition, compiled, table);
			table_close(table, AccessShareLock);
		});
	});
	definition->claim = claim;
	definition::note_growth(definition);
	return claim;
}

Ring *
ring_of(Definition *definition)
{
	const CompiledClaim *claim = compiled_claim_of(definition);
	if (!claim->is_direct)
		return nullptr;
	if (claim->ring == nullptr || !is_of(claim->ring, claim->key)) {
		definition->claim->ring = get_ring(claim->key);
		// Before this claim was compiled, the trigger may have been disabled for a while.
		distrust(claim->ring, claim->key);
	}
	return claim->ring;
}

} // namespace queue_ext::claim
