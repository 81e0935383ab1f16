// use.hpp - expressions that are compiled once and evaluated by many calls.
//
// An ExprState holds the arguments and results of its steps. Evaluating it may run code
// of the user's, even where it has functions of PostgreSQL's own alone (ts_rewrite() runs
// a query, to_json() a cast, an index entry an expression), and that may call us again,
// for the same expressions. Such a call within a call has to do without them: it takes a
// statement, whose expressions are its own.
//
// Example:
//     if (!is_in_use(&compiled claim->use)) {
//         begin_use(&compiled claim->use);
//         ...
//         end_use(&compiled claim->use);
//     }

#pragma once

#include "../postgres.hpp"

namespace queue_ext::row {

// One call's use of what lives as long as this backend, or transaction: it must be part of
// it, as an error leaves its frame without a word.
struct Use
{
	Use *outer; // a call's that this one is within, or null
	SubTransactionId begun_in;
};

// Whether a call is in the midst of it.
bool is_in_use(const Use *use);

// To be called in turn. An error ends a use with the subtransaction in which it began.
void begin_use(Use *use);
void end_use(Use *use);

// Registers the callbacks. Called once, by _PG_init.
void register_uses();

} // namespace queue_ext::row
