// planner_hook.hpp - what the planner sees of the tables and indexes of the statement that is being
// planned (plan.hpp).

#pragma once

#include "../postgres.hpp"

#include "access.hpp"

namespace queue_ext::statement {

// Registers the hook. Called once, by register_planning().
void register_planner_hook();

// What begin_hiding() has replaced.
struct Outer
{
	int first;
	int depth;
	Access planned;
	Oid leaf;
};

// Begins the planning of a statement that should find its rows so: nothing is hidden. leaf: with
// Access::by_tid, the only partition or child of the table t that is read or written; or
// InvalidOid.
Outer begin_hiding(Access access, Oid leaf);

// Ends it: nothing stays hidden. Never raises.
void end_hiding(const Outer &outer);

// Calls body() between these, also on ERROR.
template <typename Body>
void
with_hiding(Access access, Oid leaf, Body &&body)
{
	const Outer outer = begin_hiding(access, leaf);
	PG_TRY();
	{
		body();
	}
	PG_FINALLY();
	{
		end_hiding(outer);
	}
	PG_END_TRY();
}

// Hides the index from queries of this kind in the statement: a claim may consist of a SELECT that
// finds the rows, and the UPDATE around it. False if there is no room.
bool hide(Oid index, CmdType command);

// The number of indexes that are hidden, and the way back to an earlier number.
int hidden_indexes();
void show_again(int hidden_before);

// Whether a query of that kind in the statement finds its rows by the row key.
bool is_by_row_key(CmdType command);

} // namespace queue_ext::statement
