// plan.hpp - one plan for a statement, and a good one.
//
// Invariant: a generic statement has a generic plan that was made with sequential
// scans, sorts and hash or merge joins out of favour. So it uses the index that
// serves it, whatever the statistics said when it was planned: a queue's table is
// empty one minute and holds millions of rows the next. The settings hold for
// planning alone; a trigger that the statement fires plans its own queries as the
// user has it.
// Likewise the search path: the statement is parsed and planned under PostgreSQL's
// own schema alone, whatever the user's path.
//
// A table is named in a statement's text, and its lock keeps the table's name, but not that
// of its schema. A name is resolved when the statement is parsed, and a plan that is valid has
// been parsed since the last message about a schema: so only a new plan is looked at. It is
// generic if the names mean the tables that the caller has in mind, and if no such message has
// come since the parsing began.
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

// Registers the planner's hook, and the callback that counts changes of schemas. Called once,
// by _PG_init.
void register_planning();

// A table, and how the text of a statement calls it: qualified and quoted.
struct Named
{
	Oid table;
	const char *name;
};

// Those that a text names, as long as a statement is kept.
struct Tables
{
	const Named *list;
	int count;
};

// Raises 42P01 unless the name means the table.
void check_named(const Named &named);

// Sees to it that the plan's generic plan is there and generic, and that the names of these
// tables mean them in it. Raises what the planner raises, and 42P01.
void keep_generic_plan(SPIPlanPtr plan, Access access, const Tables &tables);

// How often the name of any schema may have changed, as far as this backend knows.
uint64 schema_change_count();

// Lets the statement be parsed anew before it is run.
void parse_again(SPIPlanPtr plan);

// The plan is about to be freed. Never raises.
void forget_plan(SPIPlanPtr plan);

// Whether the generic plan finds its rows as it should. Pins it if need be.
bool is_served(SPIPlanPtr plan, Access access, const Tables &tables);

} // namespace queue_ext::statement
