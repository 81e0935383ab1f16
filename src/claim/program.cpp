// program.cpp - see program.hpp.

#include "../postgres.hpp"

#include "program.hpp"

#include "../catalog/identity.hpp"
#include "../catalog/kept.hpp"
#include "../catalog/owner.hpp"
#include "../definition/compiled.hpp"
#include "../definition/registry.hpp"
#include "../statement/search_path.hpp"
#include "cursor_form.hpp"
#include "directory.hpp"
#include "wake_trigger.hpp"

namespace queue_ext::claim {

using definition::Compiled;
using definition::Definition;
using definition::Fragment;
using definition::FragmentKind;

// Whether the trigger does nothing where these columns (as pull_varattnos() counts them)
// alone are written: it is a foreign key's, of other columns, or named for others.
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

// Whether a trigger, other than our own, may fire for the event (TRIGGER_TYPE_...);
// for an update, of these columns.
static bool
has_trigger(Relation table, int16 event, const Bitmapset *written)
{
	// A copy: the look at a trigger's function may let in a message that frees these.
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

// Whether every INSERT and UPDATE of the table is made known to claims.
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

template <typename T>
static T *
allocate(const Program *program, int count)
{
	return static_cast<T *>(MemoryContextAllocZero(program->context, sizeof(T) * Max(count, 1)));
}

static bool
add_columns(Program *program, const List *targets, TupleDesc descriptor)
{
	program->columns = allocate<ColumnValue>(program, list_length(targets));
	ListCell *cell;
	foreach (cell, targets) {
		const auto *target = lfirst_node(TargetEntry, cell);
		ExprState *value =
			row::prepare_expression(reinterpret_cast<Node *>(target->expr), program->context);
		if (value == nullptr)
			return false;
		program->columns[program->column_count++] = {
			target->resno, value, TupleDescAttr(descriptor, target->resno - 1)->attnotnull};
	}
	return true;
}

// The columns of the order, where a cursor can hold them.
static void
add_order(Program *program, const Compiled &compiled, TupleDesc descriptor)
{
	const int count = list_length(compiled.order_columns);
	program->direction = compiled.direction;
	program->order_columns = allocate<AttrNumber>(program, count);
	program->cursor_columns = allocate<cursor::Column>(program, count);
	int i = 0;
	ListCell *cell;
	foreach (cell, compiled.order_columns) {
		const auto number = static_cast<AttrNumber>(lfirst_int(cell));
		if (!find_form(TupleDescAttr(descriptor, number - 1), &program->cursor_columns[i]))
			return;
		program->order_columns[i++] = number;
	}
	program->order_count = count;
}

// Whether no two rows stand at the same place of the order, so that one can go on behind
// the other.
static bool
is_total(const Program *program, const catalog::Identity &identity)
{
	for (int i = 0; i < identity.length; i++) {
		bool is_found = false;
		for (int j = 0; j < program->order_count; j++)
			is_found |= program->order_columns[j] == identity.columns[i].number;
		if (!is_found)
			return false;
	}
	return identity.has_key();
}

// What the stamp is of. Numbers end in a comma, and each text begins with its length, so
// that no two definitions have the same.
static Stamp
stamp_of(const Program *program, const Definition *definition, Relation table)
{
	const TupleDesc descriptor = RelationGetDescr(table);
	const Compiled &compiled = *definition->compiled;
	const char *order = compiled.order_by == nullptr ? "" : compiled.order_by;
	StringInfoData text;
	initStringInfo(&text);
	appendStringInfo(&text, "%u,%d,%d,", table->rd_rel->relfilenode,
					 static_cast<int>(definition->claim_mode),
					 static_cast<int>(program->direction));
	appendStringInfo(&text, "%zu,%s%zu,%s", strlen(compiled.pending), compiled.pending,
					 strlen(order), order);
	appendStringInfo(&text, "%d,", descriptor->natts);
	for (int i = 0; i < descriptor->natts; i++) {
		const Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
		appendStringInfo(&text, "%u,%d,%u,", attribute->atttypid, attribute->atttypmod,
						 attribute->attcollation);
	}
	for (int i = 0; i < program->order_count; i++)
		appendStringInfo(&text, "%d,", program->order_columns[i]);
	const Datum digest = DirectFunctionCall1(
		sha256_bytea, PointerGetDatum(cstring_to_text_with_len(text.data, text.len)));
	Stamp stamp;
	memcpy(stamp.bytes, VARDATA_ANY(DatumGetPointer(digest)), sizeof(stamp.bytes));
	return stamp;
}

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

// The expression behind identity_text(), by way of a condition, which is what can be
// compiled.
static ExprState *
prepare_identity(const Definition *definition, Relation table, MemoryContext context)
{
	const catalog::Identity &identity = definition->compiled->identity;
	if (!identity.has_key() || OidIsValid(catalog::type_without_text(identity)))
		return nullptr; // a statement says what is wrong, if anything
	const char *row = quote_identifier(RelationGetRelationName(table));
	const Fragment fragment{psprintf("(%s) is not null", catalog::identity_text(identity, row)),
							FragmentKind::condition, "identity", definition->name, false};
	const definition::CompiledFragment compiled =
		definition::compile(fragment, table, statement::bare_search_path);
	if (compiled.expression == nullptr || !IsA(compiled.expression, NullTest))
		return nullptr;
	return row::prepare_expression(
		reinterpret_cast<Node *>(castNode(NullTest, compiled.expression)->arg), context);
}

// What a job that is added has in the columns that its sender does not give.
static bool
add_defaults(Program *program, Relation table)
{
	const TupleDesc descriptor = RelationGetDescr(table);
	program->defaults = allocate<ColumnValue>(program, descriptor->natts);
	for (int i = 0; i < descriptor->natts; i++) {
		const Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
		const AttrNumber number = attribute->attnum;
		if (attribute->attisdropped || number == program->payload || number == program->priority ||
			number == program->run_at || number == program->max_attempts)
			continue;
		Node *expression = build_column_default(table, number);
		ExprState *value =
			expression == nullptr ? nullptr : row::prepare_expression(expression, program->context);
		if (expression != nullptr && value == nullptr)
			return false;
		const bool is_domain = getBaseType(attribute->atttypid) != attribute->atttypid;
		if (value == nullptr && !attribute->attnotnull && !is_domain)
			continue;
		if (value == nullptr)
			return false; // an INSERT says what is wrong, if anything
		program->defaults[program->default_count++] = {number, value, attribute->attnotnull};
	}
	return true;
}

// Whether the table's primary key is the id.
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

static AttrNumber
find_column(Relation table, const char *name, Oid type)
{
	const AttrNumber number = get_attnum(RelationGetRelid(table), name);
	if (number != InvalidAttrNumber && get_atttype(RelationGetRelid(table), number) == type)
		return number;
	return InvalidAttrNumber;
}

// The columns that every managed queue has. False if the user has changed them.
static bool
find_columns(Program *program, Relation table)
{
	program->id = find_column(table, "id", INT8OID);
	program->attempt = find_column(table, "attempt", INT4OID);
	program->leased_until = find_column(table, "leased_until", TIMESTAMPTZOID);
	program->priority = find_column(table, "priority", INT2OID);
	program->run_at = find_column(table, "run_at", TIMESTAMPTZOID);
	program->max_attempts = find_column(table, "max_attempts", INT4OID);
	program->payload = find_column(table, "payload", JSONBOID);
	program->unique_key = find_column(table, "unique_key", TEXTOID);
	const AttrNumber found[] = {program->id,       program->attempt, program->leased_until,
								program->priority, program->run_at,  program->max_attempts,
								program->payload};
	for (const AttrNumber number : found)
		if (number == InvalidAttrNumber)
			return false;
	return true;
}

static void
fill_in_managed(Program *program, const Definition *definition, Relation table)
{
	program->can_insert =
		!has_trigger(table, TRIGGER_TYPE_INSERT, nullptr) && add_defaults(program, table);
	program->can_remove = !definition->is_archived &&
						  !has_trigger(table, TRIGGER_TYPE_DELETE, nullptr) &&
						  is_keyed_by(table, program->id);
}

static void
fill_in_key(Program *program, const Definition *definition, Relation table)
{
	program->key.database = MyDatabaseId;
	program->key.table = definition->source;
	program->key.stamp = stamp_of(program, definition, table);
	program->key.is_ranked = definition->is_managed && program->order_count > 0;
	namestrcpy(&program->key.queue, definition->name);
}

// What a trigger does is its function's.
static void
depend_on_triggers(Definition *definition, Relation table)
{
	const TriggerDesc *triggers = CopyTriggerDesc(table->trigdesc); // as above
	for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++)
		catalog::depend_on_object(&definition->dependent, PROCOID, triggers->triggers[i].tgfoid);
}

static bool
fill_in(Program *program, Definition *definition, const Compiled &compiled, Relation table)
{
	depend_on_triggers(definition, table);
	if (!row::is_plain(table) || (definition->is_managed && !find_columns(program, table)))
		return false;
	const bool writes = definition->claim_mode == definition::ClaimMode::update;
	program->written = compiled.written;
	if (writes && has_trigger(table, TRIGGER_TYPE_UPDATE, program->written))
		return false;
	program->has_foreign_key = writes && RelationGetFKeyList(table) != NIL;
	program->pending = row::prepare_condition(compiled.condition, program->context);
	program->is_timeless = is_timeless(compiled.condition);
	if (program->pending == nullptr)
		return false;
	add_order(program, compiled, RelationGetDescr(table));
	if (!is_total(program, compiled.identity))
		program->order_count = 0;
	fill_in_key(program, definition, table);
	// Of other queues' claims nobody tells; nor does a statement on a parent of this one.
	program->has_wake_trigger =
		has_wake_trigger(table) &&
		!definition::has_other_queue(definition->source, definition->name) &&
		!has_superclass(definition->source);
	if (!writes) {
		program->identity = prepare_identity(definition, table, program->context);
		return program->identity != nullptr;
	}
	if (!add_columns(program, compiled.assignments, RelationGetDescr(table)) ||
		!row::prepare_checks(RelationGetDescr(table), &program->checks, program->context))
		return false;
	if (definition->is_managed)
		fill_in_managed(program, definition, table);
	return true;
}

const Program *
program_of(Definition *definition)
{
	if (definition->program != nullptr)
		return definition->program;
	const Compiled &compiled = definition::compiled_of(definition);
	Program *program = nullptr;
	catalog::make_kept("queue_ext program", definition->context, [&](MemoryContext context) {
		program = static_cast<Program *>(MemoryContextAllocZero(context, sizeof(Program)));
		program->context = context;
		catalog::make_dependent(&definition->dependent, [&] {
			Relation table = table_open(definition->source, AccessShareLock);
			program->is_direct = fill_in(program, definition, compiled, table);
			table_close(table, AccessShareLock);
		});
	});
	definition->program = program;
	definition::note_growth(definition);
	return program;
}

Ring *
ring_of(Definition *definition)
{
	const Program *program = program_of(definition);
	if (!program->is_direct)
		return nullptr;
	if (program->ring == nullptr || !is_of(program->ring, program->key)) {
		definition->program->ring = get_ring(program->key);
		// Before this program was made, the trigger may have been off for a while.
		distrust(program->ring, program->key);
	}
	return program->ring;
}

} // namespace queue_ext::claim
