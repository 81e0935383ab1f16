// statement.hpp - one prepared SQL statement of a queue, which runs with a generic plan (plan.hpp).
//
// All statements of a queue have the same parameters (Parameter); each uses what it needs.
//
// Example:
//     Arguments arguments(GetCurrentTimestamp());
//     arguments.set(Parameter::id, Int64GetDatum(id));
//     with_spi([&] { done = run(statement, arguments) > 0; });

#pragma once

#include "../postgres.hpp"

#include "own_text.hpp"
#include "parameter.hpp"
#include "plan.hpp"

namespace queue_ext::statement {

// The parameter as it is written in a statement's text, such as "$1".
const char *placeholder(Parameter parameter);

// The parameter's type; InvalidOid for Parameter::row, whose type is the table's.
Oid parameter_type(Parameter parameter);

// The values of the parameters for one run. All but call_time are null until set.
struct Arguments
{
	Datum values[parameter_count];
	char nulls[parameter_count];
	TupleDesc row_columns; // that the row was made with; null if there is no row

	explicit Arguments(TimestampTz call_time) : row_columns(nullptr)
	{
		memset(values, 0, sizeof(values));
		memset(nulls, 'n', sizeof(nulls));
		set(Parameter::call_time, TimestampTzGetDatum(call_time));
	}

	void set(Parameter parameter, Datum value)
	{
		values[static_cast<int>(parameter)] = value;
		nulls[static_cast<int>(parameter)] = ' ';
	}

	TimestampTz call_time() const
	{
		return DatumGetTimestampTz(values[static_cast<int>(Parameter::call_time)]);
	}

	// Whether the parameter is set.
	bool has(Parameter parameter) const
	{
		return nulls[static_cast<int>(parameter)] == ' ';
	}

	// Sets Parameter::row; the row was made with these columns (row_type.hpp).
	void set_row(Datum row, TupleDesc columns)
	{
		set(Parameter::row, row);
		row_columns = columns;
	}
};

// A prepared statement and how it is to be planned. Its owner discards it.
struct Statement
{
	SPIPlanPtr plan; // null until prepared
	Access access;
	Tables tables;
	Label label;
	bool follows_partitions; // an UPDATE may have moved a row to another partition

	bool is_prepared() const
	{
		return plan != nullptr;
	}
};

// Opens SPI, runs body, closes it. On ERROR the end of the subtransaction or transaction closes it.
template <typename Body>
void
with_spi(Body &&body)
{
	SPI_connect();
	body();
	SPI_finish();
}

// Runs a utility command (DDL) as the caller. Opens SPI itself. Raises what the command raises. The
// command resolves the names in its text itself, so the caller checks with check_named() which
// table it has reached. Its errors do not show the text.
void run_command(const char *text);

// Runs a statement that is no utility command, as the caller: it sees all that is committed when it begins,
// at every isolation level. Opens SPI itself. Raises what the parser and the executor raise. The statement
// resolves the names in its text itself, so the caller checks with check_named() which table it has reached.
// Its errors do not show the text.
void run_newest_command(const char *text);

// Runs a statement that names the table, without a generic plan. Needs SPI open. Raises what the
// executor raises, and 42P01 where the name means another table.
void run_once(const Named &named, const char *text, Oid *types, int type_count, Datum *values,
			  const char *nulls, bool only_reads);

// Prepares the statement; it lives until it is discarded. row_type is the type of Parameter::row.
// The strings of the label must live as long. Raises what the parser raises. Needs SPI open.
void prepare(Statement *statement, const char *text, Oid row_type, Access access,
			 const Tables &tables, const Label &label);

// Prepares a statement with parameters of its own, of these types; it lives until it is discarded. The
// strings of the label must live as long. Raises what the parser raises. Needs SPI open.
void prepare(Statement *statement, const char *text, const Oid *types, int type_count,
			 Access access, const Tables &tables, const Label &label);

// The memory allocated to the statement and its generic plan. Never raises.
Size size_of(const Statement &statement);

// Frees the plan, which no call may be running. Never raises.
void discard(Statement *statement);

// Plans to be freed when no call can be running them any more.
struct Plans
{
	List *list;
};

// Moves the statement's plan to the list. Raises 53200 when out of memory; the statement keeps its
// plan then.
void put_off(Plans *plans, Statement *statement);

// Never raises.
void free_plans(Plans *plans);

// Frees the plan at the end of the transaction: a call further up the stack may be running it.
void discard_later(Statement *statement);

// Frees the plans that discard_later() was given. For the end of the transaction; never raises.
void free_discarded();

// Runs the statement and returns the number of rows processed; the rows it returned are in
// SPI_tuptable, which is not null. It sees the newest committed rows at every isolation level.
// Raises what the executor raises, 40001 where rows of the statement keep changing, 0A000 where a
// rule has rewritten it to a command that returns no rows, 42P01 where a table's name means another
// table, and 42804 where the row's columns have changed since it was made. Needs SPI open. Takes
// the locks of the statement.
uint64 run(const Statement &statement, const Arguments &arguments);

// Runs a statement with parameters of its own and returns the number of rows processed; the rows it returned
// are in SPI_tuptable, which is null if it is one that returns none. It sees the newest committed rows at
// every isolation level. Raises what the executor raises, 40001 where rows of the statement keep changing,
// and 42P01 where a table's name means another table. Needs SPI open. Takes the locks of the statement.
uint64 run(const Statement &statement, const Datum *values, const char *nulls);

// Runs a statement that writes no row, and so has no conflict to retry for. Returns the number of rows
// processed; the rows it returned are in SPI_tuptable. It sees the newest committed rows at every isolation
// level. Raises as run() does. Needs SPI open. Takes the locks of the statement.
uint64 run_newest(const Statement &statement, const Arguments &arguments);

// Runs a read-only statement under the snapshot, which must be registered. Raises as run() does.
uint64 run_under(Snapshot snapshot, const Statement &statement, const Arguments &arguments);

// Takes a new snapshot, then sets call_time to the present time, and calls body(snapshot): a row
// that was committed before the snapshot and is due at call_time is visible and counts as due.
template <typename Body>
void
with_newest(Arguments *arguments, Body &&body)
{
	// The snapshot must show what this transaction has written.
	CommandCounterIncrement();
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	arguments->set(Parameter::call_time, TimestampTzGetDatum(GetCurrentTimestamp()));
	body(snapshot);
	UnregisterSnapshot(snapshot);
}

} // namespace queue_ext::statement
