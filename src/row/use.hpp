// use.hpp - expressions that are prepared once and evaluated by many calls.
//
// An ExprState holds the arguments and results of its steps. Evaluating it may run user-defined
// code, even if it has only functions of PostgreSQL's own (ts_rewrite() runs a query, to_json() a
// cast, an index entry an expression), and that code may call this extension, and so the same
// expressions. A call within a call cannot use them: it runs a statement, whose expressions are its
// own.
//
// Example:
//     if (!is_in_use(&claim->use))
//         with_use(&claim->use, [&] { ... });

#pragma once

#include "../postgres.hpp"

namespace queue_ext::row {

// One call's use of an object. It is part of that object, and not of the call's frame, because an
// error leaves the frame without running any code in it.
struct StackedUse
{
	StackedUse *outer; // the use that was begun before, or null
	SubTransactionId begun_in;
};

// Whether a call on the stack is using the object.
bool is_in_use(const StackedUse *use);

// Begin and end a use, in pairs. The abort of the subtransaction in which it began ends a use, too.
void begin_use(StackedUse *use);
void end_use(StackedUse *use);

// Calls body() between them. Raises what that raises.
template <typename Body>
void
with_use(StackedUse *use, Body &&body)
{
	static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Body>>);
	begin_use(use);
	body();
	end_use(use);
}

// Registers the transaction and subtransaction callbacks. Called once, by _PG_init.
void register_uses();

} // namespace queue_ext::row
