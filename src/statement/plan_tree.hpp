// plan_tree.hpp - how a finished plan finds its rows, as its tree says.

#pragma once

#include "../postgres.hpp"

#include "access.hpp"

namespace queue_ext::statement {

// The part of a claim's plan that finds the rows: the LIMIT at the top, or that of the statement's
// own CTE. Null where a rule has rewritten the claim to something else.
struct RowSource
{
	const Plan *limit;
	const List *range_table;
};

// Of the planned statements of one plan.
RowSource row_source_of(const List *statements);

// The result of judge().
struct Verdict
{
	bool is_served;
	Oid useless_index; // has the order and does not restrict; or InvalidOid
};

// Whether the rows are found as "access" demands, but for the cursor of a fill.
Verdict judge(const Plan *plan, Access access);

// An index that leads to rows before the cursor, which the plan compares with it one by one; or
// InvalidOid.
Oid find_loose_index(const Plan *plan);

// Whether the plan reads all pending rows before it returns the first.
bool reads_ahead(const Plan *plan);

// How a plan finds rows by the row key.
struct KeyScans
{
	Oid loose_index; // one that leads to other rows, too; or InvalidOid
	bool reads_all;  // there is a sequential scan
};

KeyScans key_scans_of(const PlannedStmt *statement);

// More than any plan.
constexpr double unknown_cost = 1e300;

// The cost, as the planner estimates it, of reading all rows that are not pending, which may come before
// the first that is. unknown_cost where the table has no statistics, or the plan is not one of index
// scans in the order.
double passing_cost(const Plan *plan, const List *range_table);

// A scan of an index, as expressions over its table, whose columns are Vars of number 1.
struct IndexRead
{
	Oid table;
	Oid index;
	List *leads;  // true of all rows it reads: the predicate, conditions of its first columns
	List *leaves; // the conditions that it checks in each entry or row
};

// The index scans that find the rows, as List of IndexRead *.
List *index_reads_of(const Plan *plan, const List *range_table);

} // namespace queue_ext::statement
