// program.cpp - see program.hpp.

#include "../postgres.hpp"

#include "program.hpp"

#include "../key/fnv.hpp"
#include "../queue/owner.hpp"
#include "directory.hpp"

namespace queue_ext::claim {

using queue::Compiled;
using queue::Definition;
using queue::Fragment;
using queue::FragmentKind;

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
	if (row::is_involved(expression))
		return nullptr;
	return ExecInitExpr(plan(expression), nullptr);
}

static ExprState *
prepare_condition(Node *expression)
{
	if (row::is_involved(expression))
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
	if (definition->claim_mode != queue::ClaimMode::update || !row::is_plain(table))
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
		   row::prepare_checks(RelationGetDescr(table), &program->checks);
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
