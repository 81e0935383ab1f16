// program.cpp - see program.hpp.

#include "../postgres.hpp"

#include "program.hpp"

#include "../compat.hpp"
#include "../key/fnv.hpp"
#include "../queue/owner.hpp"
#include "directory.hpp"

namespace queue_ext::claim {

using queue::Compiled;
using queue::Definition;
using queue::Fragment;
using queue::FragmentKind;

// Whether the function may change, or be forbidden to some: then it cannot be part
// of what is prepared for everybody.
static bool
is_special_function(Oid function, void *)
{
	if (function >= FirstNormalObjectId)
		return true;
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return true;
	const bool is_open_to_all = heap_attisnull(tuple, Anum_pg_proc_proacl, nullptr);
	ReleaseSysCache(tuple);
	return !is_open_to_all;
}

// Whether the expression has what cannot be cached, or run without a statement.
static bool
is_involved(Node *node, void *context)
{
	if (node == nullptr)
		return false;
	if (IsA(node, SubLink) || IsA(node, CoerceToDomain) || IsA(node, SetToDefault))
		return true;
	if (check_functions_in_node(node, is_special_function, nullptr))
		return true;
	return compat::walk_tree(node, is_involved, context);
}

static bool
has_update_triggers(const TriggerDesc *triggers)
{
	return triggers != nullptr &&
		   (triggers->trig_update_before_row || triggers->trig_update_after_row ||
			triggers->trig_update_instead_row || triggers->trig_update_before_statement ||
			triggers->trig_update_after_statement);
}

static bool
is_plain(Relation table)
{
	const TupleConstr *constraints = RelationGetDescr(table)->constr;
	return table->rd_rel->relkind == RELKIND_RELATION &&
		   table->rd_rel->relam == HEAP_TABLE_AM_OID && !table->rd_rel->relispartition &&
		   !has_subclass(RelationGetRelid(table)) && !table->rd_rel->relrowsecurity &&
		   table->rd_rules == nullptr && !has_update_triggers(table->trigdesc) &&
		   (constraints == nullptr || !compat::has_generated(constraints));
}

static Expr *
plan(Node *expression)
{
	return expression_planner(reinterpret_cast<Expr *>(copyObjectImpl(expression)));
}

// An expression ready to be evaluated, in the current context; null if it is too
// involved.
static ExprState *
prepare(Node *expression)
{
	if (is_involved(expression, nullptr))
		return nullptr;
	return ExecInitExpr(plan(expression), nullptr);
}

static ExprState *
prepare_condition(Node *expression)
{
	if (is_involved(expression, nullptr))
		return nullptr;
	return ExecInitQual(make_ands_implicit(plan(expression)), nullptr);
}

static bool
add_columns(Program *program, const List *targets, TupleDesc descriptor)
{
	program->columns =
		static_cast<ColumnValue *>(palloc0(sizeof(ColumnValue) * list_length(targets)));
	ListCell *cell;
	foreach (cell, targets) {
		const auto *target = lfirst_node(TargetEntry, cell);
		ExprState *value = prepare(reinterpret_cast<Node *>(target->expr));
		if (value == nullptr)
			return false;
		program->columns[program->column_count++] = {
			target->resno, value, TupleDescAttr(descriptor, target->resno - 1)->attnotnull};
	}
	return true;
}

static bool
add_checks(Program *program, TupleDesc descriptor)
{
	const TupleConstr *constraints = descriptor->constr;
	if (constraints == nullptr || constraints->num_check == 0)
		return true;
	program->checks =
		static_cast<ExprState **>(palloc0(sizeof(ExprState *) * constraints->num_check));
	for (int i = 0; i < constraints->num_check; i++) {
		auto *expression = static_cast<Node *>(stringToNode(constraints->check[i].ccbin));
		if (is_involved(expression, nullptr))
			return false;
		program->checks[program->check_count++] = ExecInitCheck(
			make_ands_implicit(expression_planner(reinterpret_cast<Expr *>(expression))), nullptr);
	}
	return true;
}

static void
add_order(Program *program, const Compiled &order)
{
	program->direction = order.direction;
	program->order_columns = static_cast<AttrNumber *>(
		palloc0(sizeof(AttrNumber) * (list_length(order.order_columns) + 1)));
	ListCell *cell;
	foreach (cell, order.order_columns)
		program->order_columns[program->order_count++] = static_cast<AttrNumber>(lfirst_int(cell));
}

static uint64
mix(uint64 stamp, const char *text)
{
	return stamp * 31 + key::fnv1a_64(reinterpret_cast<const unsigned char *>(text), strlen(text));
}

// Of all that a cursor's shape and a candidate's meaning depend on: the fragments,
// the columns, and the file that places are in.
static uint64
stamp_of(const Program *program, const Definition *definition, Relation table)
{
	const TupleDesc descriptor = RelationGetDescr(table);
	uint64 stamp = mix(table->rd_rel->relfilenode, definition->compiled.pending);
	if (definition->compiled.order_by != nullptr)
		stamp = mix(stamp, definition->compiled.order_by);
	for (int i = 0; i < descriptor->natts; i++) {
		const Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
		stamp = (stamp * 31 + attribute->atttypid) * 31 + attribute->attcollation;
	}
	stamp = stamp * 31 + static_cast<uint64>(program->direction);
	for (int i = 0; i < program->order_count; i++)
		stamp = stamp * 31 + program->order_columns[i];
	return stamp;
}

static bool
fill_in(Program *program, Definition *definition, Relation table)
{
	if (definition->claim_mode != queue::ClaimMode::update || !is_plain(table))
		return false;
	const auto compile = [&](const char *text, FragmentKind kind, const char *label) {
		const Fragment fragment{text, kind, label, definition->name, definition->is_managed};
		return text == nullptr ? Compiled{}
							   : queue::compile(fragment, table, definition->search_path);
	};
	const queue::Fragments &from = definition->fragments;
	Compiled pending{};
	Compiled claim{};
	Compiled order{};
	queue::as_owner_of(definition->source, [&] {
		pending = compile(from.pending, FragmentKind::condition, "pending");
		claim = compile(from.on_claim, FragmentKind::assignments, "on_claim");
		order = compile(from.order_by, FragmentKind::order, "order_by");
	});
	program->pending = prepare_condition(pending.expression);
	if (program->pending == nullptr)
		return false;
	add_order(program, order);
	if (definition->is_managed) {
		program->priority = get_attnum(definition->source, "priority");
		program->run_at = get_attnum(definition->source, "run_at");
	}
	program->key = {MyDatabaseId, definition->source, stamp_of(program, definition, table)};
	return add_columns(program, claim.targets, RelationGetDescr(table)) &&
		   add_checks(program, RelationGetDescr(table));
}

const Program *
program_of(Definition *definition)
{
	if (definition->program != nullptr)
		return definition->program;
	queue::compiled_of(definition);
	MemoryContext old = MemoryContextSwitchTo(definition->context);
	auto *program = static_cast<Program *>(palloc0(sizeof(Program)));
	Relation table = table_open(definition->source, AccessShareLock);
	program->is_direct = fill_in(program, definition, table);
	table_close(table, AccessShareLock);
	MemoryContextSwitchTo(old);
	definition->program = program;
	return program;
}

Ring *
ring_of(Definition *definition)
{
	const Program *program = program_of(definition);
	if (!program->is_direct)
		return nullptr;
	if (program->ring == nullptr || !is_of(program->ring, program->key))
		definition->program->ring = get_ring(program->key);
	return program->ring;
}

} // namespace queue_ext::claim
