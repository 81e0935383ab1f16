// plan.hpp - one plan for a statement, and a good one.
//
// Invariant: a pinned statement has a generic plan that was made with sequential
// scans, sorts and hash or merge joins out of favour. So it uses the index that
// serves it, whatever the statistics said when it was planned: a queue's table is
// empty one minute and holds millions of rows the next. The settings hold for
// planning alone; a trigger that the statement fires plans its own queries as the
// user has it.
// Likewise the search path: the statement is parsed and planned under PostgreSQL's
// own schema alone, whatever the user's path.
//
// A claim's statement asks for more. An index that merely has the right order
// leads past every row of the table that is not pending, so the planner is asked
// again without it, as long as there is another.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::statement {

// How a statement should find its rows.
enum class Access {
	by_key,     // through any index
	anywhere,   // the first that come
	in_order,   // the first by an index that has the order
	restricted, // the first by an index that has the order, and the pending rows alone
};

// Registers the planner's hook. Called once, by _PG_init.
void register_planner_hook();

// Sees to it that the plan's generic plan is there and pinned. Raises what the
// planner raises.
void pin(SPIPlanPtr plan, Access access);

// The plan is about to be freed. Never raises.
void forget_plan(SPIPlanPtr plan);

// Whether the pinned plan finds its rows as it should. Pins it if need be.
bool is_served(SPIPlanPtr plan, Access access);

} // namespace queue_ext::statement
