// named_lock.cpp - see named_lock.hpp.

#include "../postgres.hpp"

#include "named_lock.hpp"

#include "../error.hpp"
#include "../interval.hpp"
#include "../row/keyed.hpp"

namespace queue_ext::lock {

using row::Changes;
using row::Opened;

namespace {

// In the order of named_lock.sql.
enum ColumnNumber {
	column_task_id = 1,
	column_held,
	column_holder,
	column_since,
	column_until,
	column_token,
	column_retries,
};

} // namespace

// What check_columns() expects. The table of a newer version may have more.
static constexpr catalog::OwnColumn columns[] = {
	{"task_id", TEXTOID, true},
	{"held", BOOLOID, true},
	{"holder", TEXTOID, false},
	{"held_since", TIMESTAMPTZOID, false},
	{"held_until", TIMESTAMPTZOID, false},
	{"token", INT8OID, true},
	{"retries_left", INT4OID, false},
};

namespace {

// The indexes of the texts in statements[].
enum StatementNumber {
	statement_exists,
	statement_create,
	statement_acquire,
	statement_release,
	statement_set_retries,
};

// $1 to $5, in this order.
enum ParameterNumber {
	parameter_task_id,
	parameter_holder,
	parameter_timeout,
	parameter_token,
	parameter_retries,
};

} // namespace

static constexpr Oid parameters[] = {TEXTOID, TEXTOID, INTERVALOID, INT8OID, INT4OID};

// %1$s is the table. statement_acquire and statement_release lock the row in a sub-select first, so
// that the time of an acquired lock begins after the wait.
static constexpr const char *statements[] = {
	"select from %1$s where task_id operator(pg_catalog.=) $1",

	"insert into %1$s (task_id) values ($1) on conflict do nothing",

	"update %1$s set held = true, holder = $2, (held_since, held_until) ="
	" (select now, now operator(pg_catalog.+) $3"
	" from (select pg_catalog.clock_timestamp() as now) as clock),"
	" token = token operator(pg_catalog.+) 1, retries_left = retries_left operator(pg_catalog.-) 1"
	" where task_id operator(pg_catalog.=) (select task_id from %1$s"
	" where task_id operator(pg_catalog.=) $1"
	" and (not held or held_until operator(pg_catalog.<) pg_catalog.clock_timestamp())"
	" and (retries_left is null or retries_left operator(pg_catalog.>) 0) for no key update)"
	" returning token",

	"update %1$s set held = false, holder = null, held_since = null, held_until = null"
	" where task_id operator(pg_catalog.=) (select task_id from %1$s"
	" where task_id operator(pg_catalog.=) $1 and held"
	" and (held_until is null or held_until operator(pg_catalog.>=) pg_catalog.clock_timestamp())"
	" and ($4 is null or token operator(pg_catalog.=) $4) for no key update)",

	"update %1$s set retries_left = $5 where task_id operator(pg_catalog.=) $1",
};

// What changes a lock, and also what may make one.
constexpr AclMode change_rights = ACL_SELECT | ACL_UPDATE;
constexpr AclMode acquire_rights = change_rights | ACL_INSERT;

// In the order of the statements.
static constexpr AclMode rights[] = {
	ACL_SELECT, ACL_INSERT, acquire_rights, change_rights, acquire_rights,
};

// What this backend knows of the table, and its prepared statements.
static row::KeyedTable locks = {"named_lock", columns,    lengthof(columns),   statements,
								rights,       parameters, lengthof(parameters)};

using KeyedArguments = row::KeyedArguments<lengthof(parameters)>;

// Returns the token for statement_acquire, 1 for other statements, and 0 if the statement processed
// no row.
static int64
run(StatementNumber statement, const KeyedArguments &arguments)
{
	int64 result = 0;
	statement::with_spi([&] {
		if (row::run(&locks, statement, arguments.values, arguments.nulls) == 0)
			return;
		result = 1;
		if (statement != statement_acquire || SPI_tuptable == nullptr || SPI_tuptable->numvals == 0)
			return;
		bool is_null;
		result =
			DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));
	});
	return result;
}

// Calls use_row() until it finds the row of the lock, and inserts the row in between. Raises 55000
// after 100 tries: a trigger may suppress the row, or another session delete it at once.
template <typename UseRow>
static void
with_row(const text *task_id, UseRow &&use_row)
{
	static_assert(std::is_trivially_destructible_v<std::remove_reference_t<UseRow>>);
	constexpr int most_tries = 100;
	for (int i = 0; i < most_tries; i++) {
		CHECK_FOR_INTERRUPTS();
		if (use_row())
			return;
		// Waits for a transaction that has inserted the same row and is still open.
		run(statement_create, KeyedArguments(task_id));
	}
	error::lock_not_made(text_to_cstring(task_id));
}

// Returns what an administrator needs to find the holder: the session user, the process ID and
// application_name.
static text *
describe_holder()
{
	const char *program = application_name != nullptr ? application_name : "";
	const char *user = GetUserNameFromId(GetSessionUserId(), true);
	return cstring_to_text(psprintf("%s, pid %d%s%s", user != nullptr ? user : "a dropped role",
									MyProcPid, *program != '\0' ? ", " : "", program));
}

namespace {

// What came of one try.
enum class Outcome {
	done,
	refused,
	again,      // the row has or may have changed and must be read again
	no_row,     // or an update has moved the row during the index scan
	not_direct, // only a statement can do it
};

} // namespace

// Writes the row. If another transaction has it locked, waits, and the caller must read the row and
// the clock again.
static Outcome
put(const Opened &opened, HeapTuple row, Changes *changes)
{
	switch (row::update_row(opened, row, changes)) {
		case row::Written::done:
			return Outcome::done;
		case row::Written::busy:
			row::await(opened, row, changes);
			return Outcome::again;
		default:
			return Outcome::again;
	}
}

// A lock without held_until is held until released.
static bool
is_held(const Opened &opened, HeapTuple row, TimestampTz now)
{
	if (!DatumGetBool(row::value_of(opened, row, column_held)))
		return false;
	bool is_mutex;
	const Datum until = row::value_of(opened, row, column_until, &is_mutex);
	return is_mutex || DatumGetTimestampTz(until) >= now;
}

// Reads the clock at each try, so that a timeout begins after the last wait.
static Outcome
try_to_acquire(const Opened &opened, HeapTuple row, const Interval *timeout, int64 *token)
{
	const TimestampTz now = GetCurrentTimestamp();
	bool is_unlimited;
	const int32 retries = DatumGetInt32(row::value_of(opened, row, column_retries, &is_unlimited));
	if (is_held(opened, row, now) || (!is_unlimited && retries <= 0))
		return Outcome::refused;

	*token = DatumGetInt64(DirectFunctionCall1(int8inc, row::value_of(opened, row, column_token)));
	Changes changes{};
	changes.set(column_held, BoolGetDatum(true));
	changes.set(column_holder, PointerGetDatum(describe_holder()));
	changes.set(column_since, TimestampTzGetDatum(now));
	if (timeout != nullptr)
		changes.set(column_until, TimestampTzGetDatum(end_of_interval(now, timeout)));
	else
		changes.set_null(column_until);
	changes.set(column_token, Int64GetDatum(*token));
	if (!is_unlimited)
		changes.set(column_retries, Int32GetDatum(retries - 1));
	return put(opened, row, &changes);
}

// A lock whose time is over is not held, so it is not released.
static Outcome
try_to_release(const Opened &opened, HeapTuple row, const int64 *token)
{
	if (!is_held(opened, row, GetCurrentTimestamp()) ||
		(token != nullptr && *token != DatumGetInt64(row::value_of(opened, row, column_token))))
		return Outcome::refused;
	Changes changes{};
	changes.set(column_held, BoolGetDatum(false));
	changes.set_null(column_holder);
	changes.set_null(column_since);
	changes.set_null(column_until);
	return put(opened, row, &changes);
}

// Calls change(opened, row), which needs these rights, with the newest version of the row. Releases the lock on the table if
// there is no row or the change was refused.
template <typename Change>
static Outcome
change_once(const text *task_id, AclMode rights, Change &&change)
{
	const Opened opened = row::open(&locks, rights);
	if (!opened.is_direct) {
		row::close(opened, false);
		return Outcome::not_direct;
	}
	HeapTuple row = row::find(opened, task_id);
	if (row == nullptr) {
		row::close(opened, false);
		return Outcome::no_row;
	}
	const Outcome outcome = change(opened, row);
	row::close(opened, outcome != Outcome::refused);
	heap_freetuple(row);
	return outcome;
}

// Repeats change_once() as long as other transactions change the row.
template <typename Change>
static Outcome
change_row(const text *task_id, AclMode rights, Change &&change)
{
	static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Change>>);
	for (;;) {
		CHECK_FOR_INTERRUPTS();
		const Outcome outcome = change_once(task_id, rights, change);
		if (outcome != Outcome::again)
			return outcome;
	}
}

// For a table whose rows cannot be written directly: the statements fire triggers and apply row
// security policies.
static int64
acquire_by_statement(const text *task_id, const Interval *timeout)
{
	KeyedArguments arguments(task_id);
	arguments.set(parameter_holder, PointerGetDatum(describe_holder()));
	if (timeout != nullptr)
		arguments.set(parameter_timeout,
					  IntervalPGetDatum(exact_length(GetCurrentTimestamp(), timeout)));
	int64 token = 0;
	with_row(task_id, [&] {
		token = run(statement_acquire, arguments);
		return token > 0 || run(statement_exists, arguments) > 0;
	});
	return token;
}

// A row that find() misses while it is moved is found by the next try: the insert in between does
// nothing on conflict.
int64
acquire(const text *task_id, const Interval *timeout)
{
	int64 token = 0;
	Outcome outcome = Outcome::no_row;
	with_row(task_id, [&] {
		outcome = change_row(task_id, acquire_rights, [&](const Opened &opened, HeapTuple row) {
			return try_to_acquire(opened, row, timeout, &token);
		});
		return outcome != Outcome::no_row;
	});
	if (outcome == Outcome::not_direct)
		return acquire_by_statement(task_id, timeout);
	return outcome == Outcome::done ? token : 0;
}

// Without a row nothing is held, but find() may miss a row that is being moved, so a statement
// decides whether there is one.
bool
release(const text *task_id, const int64 *token)
{
	for (;;) {
		CHECK_FOR_INTERRUPTS();
		KeyedArguments arguments(task_id);
		const Outcome outcome =
			change_row(task_id, change_rights, [&](const Opened &opened, HeapTuple row) {
				return try_to_release(opened, row, token);
			});
		if (outcome == Outcome::not_direct) {
			if (token != nullptr)
				arguments.set(parameter_token, Int64GetDatum(*token));
			return run(statement_release, arguments) > 0;
		}
		if (outcome != Outcome::no_row)
			return outcome == Outcome::done;
		if (run(statement_exists, arguments) == 0)
			return false;
	}
}

// Always by a statement, which waits for the row.
void
set_retries(const text *task_id, const int32 *retries)
{
	KeyedArguments arguments(task_id);
	if (retries != nullptr)
		arguments.set(parameter_retries, Int32GetDatum(*retries));
	with_row(task_id, [&] { return run(statement_set_retries, arguments) > 0; });
}

} // namespace queue_ext::lock
