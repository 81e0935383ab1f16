// plan.hpp - a statement's generic plan, made so that it uses an index.
//
// Invariant: the generic plan of a statement is made while sequential scans, bitmap scans, sorts,
// and hash and merge joins are disabled. So it uses the index that serves it, whatever the
// statistics said when it was planned: a queue's table is empty one minute and holds millions of
// rows the next. The settings apply to planning alone; a trigger that the statement fires plans its
// own queries under the session's settings. The session's search path does not count either: the
// statement is parsed and planned with pg_catalog alone in the path. (A claim that no index serves in order may
// fall back to bitmap scans and a sort.)
//
// A statement that is given TIDs must not look for its rows by an index instead, whatever the
// statistics say. So the planner sees no index of the relation with the alias t then; a fragment's
// sub-select names its tables otherwise, and keeps their indexes.
//
// The text of a statement names a table. The lock on a table protects the table's name, but not the
// name of its schema. PostgreSQL resolves names in parse analysis, and a syscache message about
// pg_namespace invalidates all plans; so a valid plan has been analyzed since the last such
// message, and only a new plan needs a check. A new plan is kept if the names mean the caller's
// tables, and if no such message has come since the analysis began.
//
// A row that is known is found by its row key. The planner is told that the table has many rows, as
// it would read all of an index that it believes to be empty. The statement is planned again without
// an index whose conditions do not name the values of a key, since that leads to other rows, too. Rows that
// are sought by other values, as by_values says, are found with the same belief.
//
// The plan of a claim has one more condition. An index that has the order and does not restrict the
// rows leads past all rows that are not pending, so the claim is planned again without that index,
// as long as there is another.

#pragma once

#include "../postgres.hpp"

#include "access.hpp"

namespace queue_ext::statement {

// Registers the planner hook, and the syscache callback that counts changes of schemas. Called
// once, by _PG_init.
void register_planning();

// A table, and its qualified and quoted name in the text of a statement.
struct Named
{
	Oid table;
	const char *name;
};

// The tables that a text names. The list must live as long as the statement.
struct Tables
{
	const Named *list;
	int count;
	Oid leaf; // with Access::by_tid: the only child of the table t to plan for; or InvalidOid
};

// Raises 42P01 unless the name means the table. Takes no lock.
void check_named(const Named &named);

// Makes the statement's generic plan unless it is valid, checks that the names of these tables mean
// them, and takes the plan's locks until the end of the transaction. Raises what the parser and the
// planner raise, and 42P01 where a name means another table.
void keep_generic_plan(SPIPlanPtr plan, Access access, const Tables &tables);

// A counter that grows with each message about pg_namespace that this backend accepts.
uint64 schema_change_count();

// Marks the statement invalid, so that it is analyzed again before it runs.
void parse_again(SPIPlanPtr plan);

// Removes the record of the generic plan that keep_generic_plan() made; to be called before the plan is freed. Never
// raises.
void forget_plan(SPIPlanPtr plan);

// Whether the generic plan finds its rows as "access" demands. Makes the plan if necessary, and
// raises what keep_generic_plan() raises.
bool is_served(SPIPlanPtr plan, Access access, const Tables &tables);

// The index scans that find the rows of a claim, as List of IndexRead * (plan_tree.hpp). Makes
// the plan if necessary, and raises what keep_generic_plan() raises.
List *index_reads_of(SPIPlanPtr plan, Access access, const Tables &tables);

// The number of rows that the planner expects of the statement. Makes the plan if necessary, and raises
// what keep_generic_plan() raises.
double estimated_rows(SPIPlanPtr plan, Access access, const Tables &tables);

} // namespace queue_ext::statement
