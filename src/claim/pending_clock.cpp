// pending_clock.cpp - see pending_clock.hpp.

#include "../postgres.hpp"

#include "pending_clock.hpp"

#include "../compat.hpp"
#include "../definition/fragment.hpp"
#include "../statement/parameter.hpp"

namespace queue_ext::claim {

using statement::Parameter;

namespace {

// A call of a function, or of an operator's.
struct Call
{
	Oid function; // InvalidOid: it is none
	List *arguments;

	Node *first() const
	{
		return static_cast<Node *>(linitial(arguments));
	}
	Node *second() const
	{
		return static_cast<Node *>(lsecond(arguments));
	}
};

// A call that shifts a time by an interval.
struct Shift
{
	Node *time; // null: it is none
	int64 us;
};

// The places of the clock and of the row's value in a comparison.
struct Comparison
{
	Node *clock; // null: it is none
	Node *value;
};

} // namespace

static constexpr PendingClock unknown_clock = {nullptr, nullptr};

static Call
call_of(Node *node)
{
	if (IsA(node, OpExpr)) {
		auto *call = reinterpret_cast<OpExpr *>(node);
		set_opfuncid(call);
		return {call->opfuncid, call->args};
	}
	if (IsA(node, FuncExpr))
		return {reinterpret_cast<FuncExpr *>(node)->funcid,
				reinterpret_cast<FuncExpr *>(node)->args};
	return {InvalidOid, NIL};
}

// Longer than any lease, and short enough for the sum with a time that with_shift() lets through.
constexpr int64 most_shift_us = INT64CONST(100) * 365 * USECS_PER_DAY;

static bool
find_length(Node *interval, int64 *us)
{
	Node *folded = eval_const_expressions(nullptr, interval);
	if (!IsA(folded, Const) || reinterpret_cast<Const *>(folded)->constisnull)
		return false;
	const Interval *length = DatumGetIntervalP(reinterpret_cast<Const *>(folded)->constvalue);
	*us = length->time;
	return length->month == 0 && length->day == 0 && *us >= -most_shift_us && *us <= most_shift_us;
}

static Shift
shift_of(Node *node)
{
	const Call call = call_of(node);
	const bool is_plus =
		call.function == F_TIMESTAMPTZ_PL_INTERVAL || call.function == F_TIMESTAMP_PL_INTERVAL;
	const bool is_minus =
		call.function == F_TIMESTAMPTZ_MI_INTERVAL || call.function == F_TIMESTAMP_MI_INTERVAL;
	int64 us;
	if ((!is_plus && !is_minus) || !find_length(call.second(), &us))
		return {nullptr, 0};
	return {call.first(), is_plus ? us : -us};
}

bool
is_exact_shift(Node *expression)
{
	return shift_of(expression).time != nullptr;
}

// The sum must not be out of range where the comparison is not: a time that is far away is moved to where it is as far
// away for all who look in the meantime.
static const char *
with_shift(const char *time, Oid type, int64 us)
{
	const char *zone = type == TIMESTAMPTZOID ? "+00" : "";
	const char *name = type == TIMESTAMPTZOID ? "timestamptz" : "timestamp";
	return psprintf("(least(greatest(%s, '1900-01-01 00:00:00%s'::%s), '2900-01-01 00:00:00%s'::%s)"
					" + '" INT64_FORMAT " microseconds'::interval)",
					time, zone, name, zone, name, us);
}

// What the function, which is "at time zone", moves to or from UTC. Null: the node is no call of it, or of another zone.
static Node *
moved_by_utc(Node *node, Oid function)
{
	const Call call = call_of(node);
	if (call.function != function || !IsA(call.first(), Const))
		return nullptr;
	const auto *zone = reinterpret_cast<Const *>(call.first());
	if (zone->constisnull || pg_strcasecmp(TextDatumGetCString(zone->constvalue), "UTC") != 0)
		return nullptr;
	return call.second();
}

static const char *
with_utc(const char *time)
{
	return psprintf("(%s at time zone 'UTC')", time);
}

// For check_functions_in_node(). A function that is leakproof raises nothing that depends on its arguments.
static bool
is_leaky(Oid function, void *)
{
	return !get_func_leakproof(function);
}

// Tree walker, also a question: whether the evaluation of the expression may raise.
static bool
may_raise(Node *node, void *context)
{
	if (node == nullptr)
		return false;
	switch (nodeTag(node)) {
		case T_Var:
		case T_Const:
			return false;
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_RelabelType:
		case T_CoalesceExpr:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CaseTestExpr:
		case T_ArrayExpr:
		case T_List:
		case T_OpExpr:
		case T_FuncExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
			return check_functions_in_node(node, is_leaky, context) ||
				   compat::walk_tree(node, may_raise, context);
		default:
			return true;
	}
}

// The value of a row with which the clock is compared; null is compared with nothing, and so is as never. A cast that the
// text leaves out is written again. Null: it does not depend on the row alone, or may raise.
static const char *
value_text(Node *value, Oid table)
{
	check_stack_depth();
	const Shift shift = shift_of(value);
	if (shift.time != nullptr) {
		const char *time = value_text(shift.time, table);
		return time == nullptr ? nullptr : with_shift(time, exprType(value), shift.us);
	}
	Node *moved = moved_by_utc(value, F_TIMEZONE_TEXT_TIMESTAMP);
	if (moved != nullptr) {
		const char *time = value_text(moved, table);
		return time == nullptr ? nullptr : with_utc(time);
	}
	const Oid type = exprType(value);
	if ((type != TIMESTAMPTZOID && type != TIMESTAMPOID) || !definition::can_be_predicate(value) ||
		may_raise(value, nullptr))
		return nullptr;
	return psprintf("coalesce((%s)::%s, 'infinity')", definition::write_out_bare(value, table),
					type == TIMESTAMPTZOID ? "timestamptz" : "timestamp");
}

// Not now(), which may be older than the time of the call: a row would be due and not pending.
static bool
is_clock(Node *node)
{
	return IsA(node, Param) &&
		   reinterpret_cast<Param *>(node)->paramid == static_cast<int>(Parameter::call_time) + 1;
}

// When the clock, in that expression, reaches the value. Null: the expression is none of the clock that can be solved
// for it.
static const char *
solve(Node *clock, const char *value)
{
	check_stack_depth();
	if (is_clock(clock))
		return value;
	const Shift shift = shift_of(clock);
	if (shift.time != nullptr)
		return solve(shift.time, with_shift(value, exprType(clock), -shift.us));
	Node *moved = moved_by_utc(clock, F_TIMEZONE_TEXT_TIMESTAMPTZ);
	return moved == nullptr ? nullptr : solve(moved, with_utc(value));
}

// A row on the edge is due a moment before it is pending.
static Comparison
comparison_of(Node *node)
{
	const Call call = call_of(node);
	switch (call.function) {
		case F_TIMESTAMPTZ_LT:
		case F_TIMESTAMPTZ_LE:
		case F_TIMESTAMP_LT:
		case F_TIMESTAMP_LE:
			return {call.second(), call.first()};
		case F_TIMESTAMPTZ_GT:
		case F_TIMESTAMPTZ_GE:
		case F_TIMESTAMP_GT:
		case F_TIMESTAMP_GE:
			return {call.first(), call.second()};
		default:
			return {nullptr, nullptr};
	}
}

static PendingClock
clock_of_comparison(Node *node, Oid table)
{
	const Comparison comparison = comparison_of(node);
	const char *value = comparison.clock == nullptr ? nullptr : value_text(comparison.value, table);
	const char *due = value == nullptr ? nullptr : solve(comparison.clock, value);
	return due == nullptr ? unknown_clock : PendingClock{due, "true"};
}

// What depends on the row alone is asked before the others, as it may guard them.
static PendingClock
clock_of_parts(bool is_and, const char *of_row, const char *due, const char *condition)
{
	const char *first = is_and ? "greatest" : "least";
	const char *of_parts = psprintf("%s(%s)", first, due);
	if (of_row[0] == '\0')
		return {of_parts, psprintf("(%s)", condition)};
	return {psprintf("case when (%s) then %s else %s end", of_row,
					 is_and ? of_parts : "'-infinity'::timestamptz",
					 is_and ? "'infinity'::timestamptz" : of_parts),
			psprintf("((%s) %s (%s))", of_row, is_and ? "and" : "or", condition)};
}

static void
add_part(StringInfo text, const char *separator, const char *part)
{
	appendStringInfo(text, "%s%s", text->len == 0 ? "" : separator, part);
}

static PendingClock find(Node *condition, Oid table, bool is_guarded);

// is_guarded: a comparison with the clock comes before.
static PendingClock
clock_of_expression(const BoolExpr *expression, Oid table, bool is_guarded)
{
	const bool is_and = expression->boolop == AND_EXPR;
	const char *separator = is_and ? " and " : " or ";
	if (!is_and && expression->boolop != OR_EXPR)
		return unknown_clock;
	StringInfoData of_row;
	StringInfoData due;
	StringInfoData condition;
	initStringInfo(&of_row);
	initStringInfo(&due);
	initStringInfo(&condition);
	ListCell *cell;
	foreach (cell, expression->args) {
		auto *part = static_cast<Node *>(lfirst(cell));
		if (definition::can_be_predicate(part)) {
			if (is_guarded && may_raise(part, nullptr))
				return unknown_clock;
			add_part(&of_row, separator, psprintf("(%s)", definition::write_out_bare(part, table)));
			continue;
		}
		const PendingClock clock = find(part, table, is_guarded);
		if (clock.due == nullptr)
			return unknown_clock;
		is_guarded = true;
		add_part(&due, ", ", clock.due);
		add_part(&condition, separator, clock.condition);
	}
	if (due.len == 0)
		return unknown_clock; // it is none of the clock
	return clock_of_parts(is_and, of_row.data, due.data, condition.data);
}

static PendingClock
find(Node *condition, Oid table, bool is_guarded)
{
	check_stack_depth();
	if (IsA(condition, BoolExpr))
		return clock_of_expression(reinterpret_cast<BoolExpr *>(condition), table, is_guarded);
	return clock_of_comparison(condition, table);
}

PendingClock
find_pending_clock(Node *condition, Oid table)
{
	return find(condition, table, false);
}

} // namespace queue_ext::claim
