// statement.cpp - see statement.hpp.

#include "../postgres.hpp"

#include "statement.hpp"

#include "../error.hpp"
#include "qualify.hpp"
#include "row_type.hpp"
#include "search_path.hpp"
#include "subtransaction.hpp"

namespace queue_ext::statement {

namespace {

// A parameter's text in a statement, and its type.
struct ParameterType
{
	const char *placeholder;
	Oid type;
};

} // namespace

// In the order of Parameter.
static constexpr ParameterType parameters[] = {
	{"$1", TIMESTAMPTZOID},       // call_time
	{"$2", INTERVALOID},          // lease
	{"$3", TEXTOID},              // worker
	{"$4", TEXTOID},              // error
	{"$5", TIMESTAMPTZOID},       // retry_at
	{"$6", INT8OID},              // id
	{"$7", INT4OID},              // attempt
	{"$8", JSONBOID},             // payload
	{"$9", INT2OID},              // priority
	{"$10", TIMESTAMPTZOID},      // run_at
	{"$11", INT4OID},             // max_attempts
	{"$12", TEXTOID},             // state
	{"$13", INT8ARRAYOID},        // ids
	{"$14", INT4ARRAYOID},        // attempts
	{"$15", TEXTARRAYOID},        // errors
	{"$16", TIMESTAMPTZARRAYOID}, // retry_ats
	{"$17", JSONBARRAYOID},       // payloads
	{"$18", InvalidOid},          // row: of the table of the queue
	{"$19", OIDARRAYOID},         // tables
	{"$20", TIDARRAYOID},         // tids
	{"$21", TEXTOID},             // unique_key
	{"$22", TEXTARRAYOID},        // unique_keys
	{"$23", TIDOID},              // tid
	{"$24", JSONBOID},            // arguments
	{"$25", TEXTOID},             // kind
	{"$26", TEXTARRAYOID},        // kinds
	{"$27", JSONBOID},            // result
	{"$28", JSONBARRAYOID},       // results
	{"$29", INT2OID},             // slot
	{"$30", TIMESTAMPTZOID},      // cutoff
	{"$31", BOOLOID},             // retry
	{"$32", INTERVALOID},         // max_delay
	{"$33", JSONBOID},            // new_progress
	{"$34", JSONBARRAYOID},       // progresses
	{"$35", TIMESTAMPTZOID},      // expires_at
};
static_assert(lengthof(parameters) == parameter_count);

// A constant, so that texts can be composed without a copy.
const char *
placeholder(Parameter parameter)
{
	return parameters[static_cast<int>(parameter)].placeholder;
}

Oid
parameter_type(Parameter parameter)
{
	return parameters[static_cast<int>(parameter)].type;
}

// All parameters are declared, since each statement uses some of them.
void
prepare(Statement *statement, const char *text, Oid row_type, Access access, const Tables &tables,
		const Label &label)
{
	Oid types[parameter_count];
	for (int i = 0; i < parameter_count; i++)
		types[i] = OidIsValid(parameters[i].type) ? parameters[i].type : row_type;
	prepare(statement, text, types, parameter_count, access, tables, label);
}

// CURSOR_OPT_GENERIC_PLAN: plancache.c never makes a custom plan, which would be planned under the
// session's settings.
void
prepare(Statement *statement, const char *text, const Oid *types, int type_count, Access access,
		const Tables &tables, const Label &label)
{
	const uint64 changes_before = schema_change_count();
	SPIPlanPtr plan = nullptr;
	without_text(text, label, [&] {
		with_search_path(bare_search_path, [&] {
			Assert(is_qualified(text));
			plan = SPI_prepare_cursor(text, type_count, const_cast<Oid *>(types),
									  CURSOR_OPT_GENERIC_PLAN);
		});
	});
	if (plan == nullptr || SPI_keepplan(plan) != 0)
		elog(ERROR, "could not prepare statement: %s", SPI_result_code_string(SPI_result));
	if (schema_change_count() != changes_before)
		parse_again(plan);
	// Parsing may have run user-defined code, and a call within it may have prepared the statement.
	discard_later(statement);
	*statement = {plan, access, tables, label, false};
}

// Includes the parse tree and the generic plan of each source, and their child contexts.
Size
size_of(const Statement &statement)
{
	Size size = 0;
	if (!statement.is_prepared())
		return size;
	ListCell *cell;
	foreach (cell, SPI_plan_get_plan_sources(statement.plan)) {
		const auto *source = static_cast<CachedPlanSource *>(lfirst(cell));
		size += MemoryContextMemAllocated(source->context, true);
		if (source->gplan != nullptr)
			size += MemoryContextMemAllocated(source->gplan->context, true);
	}
	return size;
}

// Forgets the plan first: a later plan may be allocated at the same address, which is the key.
static void
free_plan(SPIPlanPtr plan)
{
	forget_plan(plan);
	const int result = SPI_freeplan(plan);
	Assert(result == 0); // not twice
	(void) result;
}

void
discard(Statement *statement)
{
	if (!statement->is_prepared())
		return;
	free_plan(statement->plan);
	*statement = {};
}

// The list lives in TopMemoryContext, because plans outlive the transaction.
void
put_off(Plans *plans, Statement *statement)
{
	if (!statement->is_prepared())
		return;
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	plans->list = lappend(plans->list, statement->plan);
	MemoryContextSwitchTo(old);
	*statement = {};
}

void
free_plans(Plans *plans)
{
	ListCell *cell;
	foreach (cell, plans->list)
		free_plan(static_cast<SPIPlanPtr>(lfirst(cell)));
	list_free(plans->list);
	plans->list = NIL;
}

// The plans of discard_later().
static Plans discarded{};

void
discard_later(Statement *statement)
{
	put_off(&discarded, statement);
}

void
free_discarded()
{
	free_plans(&discarded);
}

// Not read-only, or SPI would refuse a utility command.
void
run_command(const char *text)
{
	with_spi([&] {
		without_text(text, {}, [&] {
			const int result = SPI_execute(text, false, 0);
			if (result < 0)
				elog(ERROR, "could not run command: %s", SPI_result_code_string(result));
		});
	});
}

// The plan is in SPI's procedure context.
void
run_newest_command(const char *text)
{
	with_spi([&] {
		without_text(text, {}, [&] {
			SPIPlanPtr plan = SPI_prepare(text, 0, nullptr);
			if (plan == nullptr)
				elog(ERROR, "could not prepare statement: %s", SPI_result_code_string(SPI_result));
			Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
			const int result = SPI_execute_snapshot(plan, nullptr, nullptr, snapshot,
													InvalidSnapshot, false, true, 0);
			if (result < 0)
				elog(ERROR, "could not run statement: %s", SPI_result_code_string(result));
			UnregisterSnapshot(snapshot);
		});
	});
}

// Parses the statement, and again if a message about a schema came meanwhile, so that the name
// meant the table during the whole of parse analysis.
static SPIPlanPtr
parse_named(const Named &named, const char *text, Oid *types, int type_count)
{
	constexpr int tries = 10; // debug_discard_caches sends such a message each time
	for (int i = 1;; i++) {
		CHECK_FOR_INTERRUPTS();
		const uint64 changes_before = schema_change_count();
		SPIPlanPtr plan = SPI_prepare(text, type_count, types);
		if (plan == nullptr)
			elog(ERROR, "could not prepare statement: %s", SPI_result_code_string(SPI_result));
		check_named(named);
		if (schema_change_count() == changes_before || i == tries)
			return plan;
	}
}

// The plan is in SPI's procedure context, so SPI_finish() frees it.
void
run_once(const Named &named, const char *text, Oid *types, int type_count, Datum *values,
		 const char *nulls, bool only_reads)
{
	Assert(is_qualified(text));
	SPIPlanPtr plan = nullptr;
	without_text(text, {}, [&] { plan = parse_named(named, text, types, type_count); });
	without_text(plan, {}, [&] {
		const int result = SPI_execute_plan(plan, values, nulls, only_reads, 0);
		if (result < 0)
			elog(ERROR, "could not run statement: %s", SPI_result_code_string(result));
	});
}

namespace {

// The values for one run, of a queue's statement or one with its own parameters.
struct Values
{
	const Datum *values;
	const char *nulls;
	TupleDesc row_columns; // of the row among them; or null
};

} // namespace

// Without a copy: the arguments outlive the run.
static Values
values_of(const Arguments &arguments)
{
	return {arguments.values, arguments.nulls, arguments.row_columns};
}

// The only place that runs a prepared statement. The const_cast is safe: SPI copies the values into
// its parameter list.
static uint64
execute(const Statement &statement, const Values &values, Snapshot snapshot, bool only_reads)
{
	without_text(statement.plan, statement.label, [&] {
		keep_generic_plan(statement.plan, statement.access, statement.tables);
		// Planning may have run user-defined code that altered the table.
		if (values.row_columns != nullptr)
			check_readable(values.row_columns);
		const int result =
			SPI_execute_snapshot(statement.plan, const_cast<Datum *>(values.values), values.nulls,
								 snapshot, InvalidSnapshot, only_reads, !only_reads, 0);
		if (result < 0)
			elog(ERROR, "could not run statement: %s", SPI_result_code_string(result));
	});
	return SPI_processed;
}

// Not read-only, so that SPI sees what this command has written so far.
static uint64
execute_newest(const Statement &statement, const Values &values)
{
	// With InvalidSnapshot SPI takes the transaction's snapshot, which is a new one in READ
	// COMMITTED.
	const Snapshot snapshot = IsolationUsesXactSnapshot() ? GetLatestSnapshot() : InvalidSnapshot;
	return execute(statement, values, snapshot, false);
}

namespace {

// Tells whether an error is raised by the statement itself: then the only error context callback
// between this one and the error is SPI's. User-defined code adds another: SPI's for its own
// statement, or its language's.
struct Watch
{
	ErrorContextCallback callback;
	volatile bool is_statements_own; // of the last error or notice
};

} // namespace

// Called for each message that is reported in the statement; the error is the last.
static void
note_depth(void *argument)
{
	auto *watch = static_cast<Watch *>(argument);
	watch->is_statements_own = error_context_stack->previous == &watch->callback;
}

// On ERROR the catch block of in_subtransaction() restores error_context_stack.
template <typename Body>
static void
with_watch(Watch *watch, Body &&body)
{
	watch->callback = {error_context_stack, note_depth, watch};
	error_context_stack = &watch->callback;
	body();
	error_context_stack = watch->callback.previous;
}

// Whether the error says that a row has changed since the snapshot was taken, as the executor or
// heapam_handler.c raises it. SERIALIZABLE's own conflicts are raised elsewhere (predicate.c) and
// do not go away with a retry.
static bool
is_changed_row(const ErrorData *error)
{
	static constexpr const char *files[] = {"nodeModifyTable.c", "nodeLockRows.c", "trigger.c",
											"heapam_handler.c"};
	if (error->sqlerrcode != ERRCODE_T_R_SERIALIZATION_FAILURE || error->filename == nullptr)
		return false;
	for (const char *file : files)
		if (strcmp(error->filename, file) == 0)
			return true;
	return false;
}

// Runs the statement in a subtransaction. False, with the subtransaction rolled back, when a row of
// the statement had changed since the snapshot was taken.
static bool
try_once(const Statement &statement, const Values &values, uint64 *processed)
{
	Watch watch{};
	return in_subtransaction(
		[&] { with_watch(&watch, [&] { *processed = execute_newest(statement, values); }); },
		[&](const ErrorData *error) { return watch.is_statements_own && is_changed_row(error); });
}

// Raises 40001 when the last of a hundred tries meets a changed row, too.
static uint64
execute_until_unchanged(const Statement &statement, const Values &values)
{
	// The executor follows a row to its newest version only in READ COMMITTED, and even there not
	// to another partition.
	if (!IsolationUsesXactSnapshot() && !statement.follows_partitions)
		return execute_newest(statement, values);

	// Elsewhere a new snapshot has nearly the same effect; a row that changes between the snapshot
	// and the visit needs another try.
	constexpr int tries = 100;
	uint64 processed = 0;
	for (int i = 1; i < tries; i++) {
		CHECK_FOR_INTERRUPTS();
		if (try_once(statement, values, &processed))
			return processed;
	}
	return execute_newest(statement, values);
}

uint64
run(const Statement &statement, const Datum *values, const char *nulls)
{
	return execute_until_unchanged(statement, {values, nulls, nullptr});
}

// Raises 0A000 unless the statement returned rows, if only none of them: a rule of the table may
// have rewritten it to another command.
static uint64
with_rows(uint64 processed)
{
	if (SPI_tuptable == nullptr)
		error::rewritten();
	return processed;
}

uint64
run(const Statement &statement, const Arguments &arguments)
{
	return with_rows(execute_until_unchanged(statement, values_of(arguments)));
}

uint64
run_newest(const Statement &statement, const Arguments &arguments)
{
	return with_rows(execute_newest(statement, values_of(arguments)));
}

uint64
run_under(Snapshot snapshot, const Statement &statement, const Arguments &arguments)
{
	return with_rows(execute(statement, values_of(arguments), snapshot, true));
}

} // namespace queue_ext::statement
