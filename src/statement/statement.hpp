// statement.hpp - one prepared SQL statement of a queue, with its plan generic
// (plan.hpp).
//
// All statements know the same parameters (Parameter); each uses what it needs.
//
// Example:
//     Arguments arguments(GetCurrentTimestamp());
//     arguments.set(Parameter::id, Int64GetDatum(id));
//     with_spi([&] { done = run(statement, arguments) > 0; });

#pragma once

#include "../postgres.hpp"

#include "plan.hpp"

namespace queue_ext::statement {

enum class Parameter {
	call_time, // the wall clock at the start of the call
	lease,
	worker,
	error,
	retry_at,
	id,
	attempt,
	payload,
	priority,
	run_at,
	max_attempts,
	state,
	ids,
	attempts,
	errors,
	retry_ats,
	payloads,
	row, // of the queue's table
	tables,
	tids,
	unique_key,
	unique_keys,
};
constexpr int parameter_count = static_cast<int>(Parameter::unique_keys) + 1;

// "$1" and so on: the parameter as it is written in a statement's text.
const char *placeholder(Parameter parameter);

// Its type; InvalidOid for Parameter::row.
Oid parameter_type(Parameter parameter);

// The values for one run. All are null until set.
struct Arguments
{
	Datum values[parameter_count];
	char nulls[parameter_count];
	TupleDesc row_columns; // with which the row was made; null where there is none

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

	// Parameter::row, made with these columns (row_type.hpp).
	void set_row(Datum row, TupleDesc columns)
	{
		set(Parameter::row, row);
		row_columns = columns;
	}
};

struct Statement
{
	SPIPlanPtr plan; // null until prepared
	Access access;
	Tables tables;
	bool follows_partitions; // a row may have gone to another partition meanwhile

	bool is_prepared() const
	{
		return plan != nullptr;
	}
};

// Opens SPI, runs body, closes it. On ERROR the transaction's end closes it.
template <typename Body>
void
with_spi(Body &&body)
{
	SPI_connect();
	body();
	SPI_finish();
}

// Runs a command as the caller: DDL, planned by nobody. Opens SPI itself. Raises what
// the command raises. To which table it comes the caller has to find out (check_named()).
void run_command(const char *text);

// Runs a statement that names the table, without a generic plan. Wants SPI open. Raises what the
// executor raises, and 42P01 where the name means another table by now.
void run_once(const Named &named, const char *text, Oid *types, int type_count, Datum *values,
			  const char *nulls, bool only_reads);

// Prepares the statement for the life of the backend; row_type is the type of
// Parameter::row. Raises what the parser raises. Wants SPI open.
void prepare(Statement *statement, const char *text, Oid row_type, Access access,
			 const Tables &tables);

// The same, for a statement with parameters of its own.
void prepare(Statement *statement, const char *text, const Oid *types, int type_count,
			 Access access, const Tables &tables);

// The memory that the statement and its plan take. Never raises.
Size size_of(const Statement &statement);

// Frees the plan. Never raises.
void discard(Statement *statement);

// Plans to be freed when no call can be running them.
struct Plans
{
	List *list;
};

// Hands the statement's plan over. Raises where there is no memory; then the statement has
// it still.
void put_off(Plans *plans, Statement *statement);

// Never raises.
void free_plans(Plans *plans);

// Frees the plan when the transaction ends: a call further up may be running it.
void discard_later(Statement *statement);

// Frees what discard_later() was given. For the transaction's end; never raises.
void free_discarded();

// Runs the statement and returns the number of rows it processed; what it
// returned is in SPI_tuptable, which is not null. It works on the newest committed rows
// at every isolation level. Raises what the executor raises, 0A000 where a rule has
// made of it a command that returns nothing, 42P01 where a table's name means another, and 42804
// where the row's columns have changed since it was made. Wants SPI open. Takes the locks that the
// statement takes.
uint64 run(const Statement &statement, const Arguments &arguments);

// The same, for a statement with parameters of its own, which may return nothing: then
// SPI_tuptable is null.
uint64 run(const Statement &statement, const Datum *values, const char *nulls);

// The same for a statement that changes no row: it has nothing to try again for.
uint64 run_newest(const Statement &statement, const Arguments &arguments);

// Runs a statement that only reads under that snapshot, which must be registered.
uint64 run_under(Snapshot snapshot, const Statement &statement, const Arguments &arguments);

// Calls body(snapshot) with a new snapshot, and the clock of arguments set after it was
// taken: what is due by then, and was committed before, is seen.
template <typename Body>
void
with_newest(Arguments *arguments, Body &&body)
{
	// What this transaction has written is to be seen, too.
	CommandCounterIncrement();
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	arguments->set(Parameter::call_time, TimestampTzGetDatum(GetCurrentTimestamp()));
	body(snapshot);
	UnregisterSnapshot(snapshot);
}

} // namespace queue_ext::statement
