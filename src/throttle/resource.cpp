// resource.cpp - see resource.hpp.

#include "../postgres.hpp"

#include "resource.hpp"

#include "../error.hpp"
#include "../interval.hpp"
#include "../row/keyed.hpp"

namespace queue_ext::throttle {

using row::Opened;

namespace {

// In the order of throttle.sql.
enum ColumnNumber {
	column_resource = 1,
	column_interval,
	column_grants,
	column_last_locked,
	column_details,
	column_earlier,
};

} // namespace

// What check_columns() expects. The table of a newer version may have more.
static constexpr catalog::OwnColumn columns[] = {
	{"resource", TEXTOID, true},
	{"throttle_interval", INTERVALOID, true},
	{"grants", INT4OID, true},
	{"last_locked", TIMESTAMPTZOID, true},
	{"last_locker_details", TEXTOID, true},
	{"earlier_grants", TIMESTAMPTZARRAYOID, true},
};

namespace {

// The indexes of the texts in statements[].
enum StatementNumber {
	statement_grants,
	statement_lock,
	statement_create,
	statement_alter,
	statement_drop
};

// $1 resource, $2 details, $3 the wall clock, $4 throttle_interval, $5 grants.
enum ParameterNumber {
	parameter_resource,
	parameter_details,
	parameter_now,
	parameter_interval,
	parameter_grants
};

} // namespace

static constexpr Oid parameters[] = {TEXTOID, TEXTOID, TIMESTAMPTZOID, INTERVALOID, INT4OID};

// %1$s is the table. statement_lock serves where the row cannot be written directly (row/keyed.hpp),
// the others always.
static constexpr const char *statements[] = {
	"select throttle_interval, grants, last_locked, earlier_grants from %1$s"
	" where resource operator(pg_catalog.=) $1",

	// As try_to_lock(). The sub-select locks the row first, without waiting; e.past are the earlier grants
	// that read_grants() believes.
	"update %1$s as t set last_locked = greatest($3, t.last_locked), last_locker_details = $2,"
	" earlier_grants = case when t.last_locked operator(pg_catalog.=) '-infinity' then '{}'"
	" else (select (e.past operator(pg_catalog.||) t.last_locked)"
	"[greatest(pg_catalog.cardinality(e.past)"
	" operator(pg_catalog.+) 3 operator(pg_catalog.-) t.grants, 1):]"
	" from (select array(select g.g from pg_catalog.unnest(t.earlier_grants) as g(g)"
	" where pg_catalog.isfinite(g.g)) as past) as e) end"
	" where resource operator(pg_catalog.=) (select r.resource from %1$s as r,"
	" lateral (select array(select g.g from pg_catalog.unnest(r.earlier_grants) as g(g)"
	" where pg_catalog.isfinite(g.g)) as past) as e"
	" where r.resource operator(pg_catalog.=) $1"
	" and r.last_locked operator(pg_catalog.<) 'infinity'"
	" and (coalesce((e.past operator(pg_catalog.||) r.last_locked)"
	"[pg_catalog.cardinality(e.past)"
	" operator(pg_catalog.+) 2 operator(pg_catalog.-) r.grants], '-infinity') at time zone 'UTC')"
	" operator(pg_catalog.+) r.throttle_interval operator(pg_catalog.<) ($3 at time zone 'UTC')"
	" for no key update of r skip locked)",

	"insert into %1$s (resource, throttle_interval, grants) values ($1, $4, $5)"
	" on conflict do nothing",

	"update %1$s set throttle_interval = coalesce($4, throttle_interval),"
	" grants = coalesce($5, grants) where resource operator(pg_catalog.=) $1",

	"delete from %1$s where resource operator(pg_catalog.=) $1",
};

// In the order of the statements.
static constexpr AclMode rights[] = {
	ACL_SELECT,
	ACL_SELECT | ACL_UPDATE,
	ACL_INSERT,
	ACL_SELECT | ACL_UPDATE,
	ACL_SELECT | ACL_DELETE,
};

// What this backend knows of the table, and its prepared statements.
static row::KeyedTable resources = {"throttled_resource", columns, lengthof(columns),
									statements,           rights,  parameters,
									lengthof(parameters)};

using KeyedArguments = row::KeyedArguments<lengthof(parameters)>;

// Returns whether the statement processed a row.
static bool
run(StatementNumber statement, const KeyedArguments &arguments)
{
	uint64 processed = 0;
	statement::with_spi(
		[&] { processed = row::run(&resources, statement, arguments.values, arguments.nulls); });
	return processed > 0;
}

bool
create_resource(const text *resource, const Interval *interval, int32 grants)
{
	KeyedArguments arguments(resource);
	arguments.set(parameter_interval, IntervalPGetDatum(interval));
	arguments.set(parameter_grants, Int32GetDatum(grants));
	return run(statement_create, arguments);
}

bool
alter_resource(const text *resource, const Interval *interval, const int32 *grants)
{
	KeyedArguments arguments(resource);
	if (interval != nullptr)
		arguments.set(parameter_interval, IntervalPGetDatum(interval));
	if (grants != nullptr)
		arguments.set(parameter_grants, Int32GetDatum(*grants));
	return run(statement_alter, arguments);
}

bool
drop_resource(const text *resource)
{
	return run(statement_drop, KeyedArguments(resource));
}

namespace {

// The last grants of a resource, the latest at the end.
struct Grants
{
	TimestampTz latest;
	const TimestampTz *earlier;
	int earlier_count;

	// The grant that stands count before the next one; -infinity if there is none. An infinite latest one closes
	// the resource, however many are left: it stands for all.
	TimestampTz back(int count) const
	{
		if (count == 1 || TIMESTAMP_IS_NOEND(latest))
			return latest;
		const int index = earlier_count + 1 - count;
		return index >= 0 ? earlier[index] : DT_NOBEGIN;
	}
};

} // namespace

// Leaves out what is infinite, as it is no time of a grant. In the current context.
static Grants
without_infinite(const Grants &grants)
{
	auto *earlier = static_cast<TimestampTz *>(palloc(sizeof(TimestampTz) * grants.earlier_count));
	Grants finite{grants.latest, earlier, 0};
	for (int i = 0; i < grants.earlier_count; i++)
		if (!TIMESTAMP_NOT_FINITE(grants.earlier[i]))
			earlier[finite.earlier_count++] = grants.earlier[i];
	return finite;
}

// Returns false if the array is not as the table's constraints, which its owner may have dropped,
// demand: one dimension that begins at 1, or empty, and without nulls. The array must stay in
// memory as long as the grants.
static bool
read_grants(Datum latest, ArrayType *earlier, Grants *grants)
{
	const int dimensions = ARR_NDIM(earlier);
	if (dimensions > 1 || (dimensions == 1 && ARR_LBOUND(earlier)[0] != 1) ||
		array_contains_nulls(earlier))
		return false;
	*grants = {DatumGetTimestampTz(latest),
			   reinterpret_cast<const TimestampTz *>(ARR_DATA_PTR(earlier)),
			   dimensions == 0 ? 0 : ARR_DIMS(earlier)[0]};
	for (int i = 0; i < grants->earlier_count; i++)
		if (TIMESTAMP_NOT_FINITE(grants->earlier[i])) {
			*grants = without_infinite(*grants);
			break;
		}
	return true;
}

// When the next grant after that one may come: the interval has to be over.
static TimestampTz
due_after(TimestampTz grant, const Interval *interval)
{
	const TimestampTz end = end_of_interval(grant, interval);
	return TIMESTAMP_NOT_FINITE(end) ? end : end + 1;
}

// How long to wait at most for a transaction that has the resource locked: if it is rolled back, the
// grant is another caller's; and at least: who asks again and again writes his job each time.
constexpr TimestampTz open_grant_wait = USECS_PER_SEC;
constexpr TimestampTz least_grant_wait = USECS_PER_SEC / 100;

// When a caller who was denied at that time should ask again. If a grant was due, another transaction
// has the row locked, and its commit would put the next one off.
static TimestampTz
next_try(const Grants &grants, int most, const Interval *interval, TimestampTz now)
{
	const TimestampTz due = due_after(grants.back(most), interval);
	if (due > now)
		return due;
	const TimestampTz if_committed = due_after(most == 1 ? now : grants.back(most - 1), interval);
	return Min(Max(if_committed, now + least_grant_wait), now + open_grant_wait);
}

// Returns earlier_grants as it is after the next grant: no more than most - 1 of the grants so far,
// since older ones cannot matter again.
static Datum
make_earlier(const Grants &grants, int most)
{
	const int kept =
		TIMESTAMP_IS_NOBEGIN(grants.latest) ? 0 : Min(grants.earlier_count + 1, most - 1);
	if (kept == 0)
		return PointerGetDatum(construct_empty_array(TIMESTAMPTZOID));
	auto *values = static_cast<Datum *>(palloc(sizeof(Datum) * kept));
	for (int i = 0; i < kept; i++)
		values[i] = TimestampTzGetDatum(grants.back(kept - i));
	return PointerGetDatum(construct_array(values, kept, TIMESTAMPTZOID, sizeof(TimestampTz),
										   FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

// Raises 42704 unless the resource exists. *retry_at, unless that is null, is then when to ask again.
static void
read_denial(const text *resource, TimestampTz now, TimestampTz *retry_at)
{
	const KeyedArguments arguments(resource);
	uint64 found = 0;
	statement::with_spi([&] {
		found = row::run(&resources, statement_grants, arguments.values, arguments.nulls);
		if (found == 0 || retry_at == nullptr)
			return;
		Datum values[4];
		bool is_null = false;
		for (int i = 0; i < 4 && !is_null; i++)
			values[i] =
				SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, i + 1, &is_null);
		Grants grants;
		const bool is_readable = !is_null && DatumGetInt32(values[1]) >= 1 &&
								 read_grants(values[2], DatumGetArrayTypeP(values[3]), &grants);
		*retry_at = is_readable ? next_try(grants, DatumGetInt32(values[1]),
										   DatumGetIntervalP(values[0]), now)
								: now + open_grant_wait;
	});
	if (found == 0)
		error::no_such_resource(text_to_cstring(resource));
}

// For a table whose rows cannot be written directly: the statement fires triggers and applies row
// security policies.
static bool
lock_by_statement(const text *resource, const text *details, TimestampTz now, TimestampTz *retry_at)
{
	KeyedArguments arguments(resource);
	arguments.set(parameter_details, PointerGetDatum(details));
	arguments.set(parameter_now, TimestampTzGetDatum(now));
	if (run(statement_lock, arguments))
		return true;
	read_denial(resource, now, retry_at);
	return false;
}

namespace {

// What came of one try.
enum class Outcome {
	granted,
	denied,
	changed,    // the row must be read again
	unreadable, // left to the statement
};

} // namespace

// Writes the grant into the version that was read, and into no other. A row that another
// transaction has locked is denied, as by SKIP LOCKED.
static Outcome
try_to_lock(const Opened &opened, HeapTuple row, const text *details, TimestampTz now,
			TimestampTz *retry_at)
{
	const int32 most = DatumGetInt32(row::value_of(opened, row, column_grants));
	Grants grants;
	if (most < 1 ||
		!read_grants(row::value_of(opened, row, column_last_locked),
					 DatumGetArrayTypeP(row::value_of(opened, row, column_earlier)), &grants))
		return Outcome::unreadable;
	const Interval *interval = DatumGetIntervalP(row::value_of(opened, row, column_interval));
	if (end_of_interval(grants.back(most), interval) >= now) {
		if (retry_at != nullptr)
			*retry_at = next_try(grants, most, interval, now);
		return Outcome::denied;
	}
	row::Changes changes{};
	// Keeps the grants in order, even if this call began before the last one.
	changes.set(column_last_locked, TimestampTzGetDatum(Max(now, grants.latest)));
	changes.set(column_details, PointerGetDatum(details));
	if (most > 1 || grants.earlier_count > 0)
		changes.set(column_earlier, make_earlier(grants, most));
	switch (row::update_row(opened, row, &changes)) {
		case row::Written::done:
			return Outcome::granted;
		case row::Written::busy:
			if (retry_at != nullptr)
				*retry_at = next_try(grants, most, interval, now);
			return Outcome::denied;
		default:
			return Outcome::changed;
	}
}

// Reads the clock once, so that a grant is of the time of the call. find() may miss a row that is
// being moved, so read_denial() decides before another try.
bool
lock_resource(const text *resource, const text *details, TimestampTz *retry_at)
{
	const TimestampTz now = GetCurrentTimestamp();
	for (;;) {
		CHECK_FOR_INTERRUPTS();
		const Opened opened = row::open(&resources, rights[statement_lock]);
		if (!opened.is_direct) {
			row::close(opened, false);
			return lock_by_statement(resource, details, now, retry_at);
		}
		HeapTuple row = row::find(opened, resource);
		const Outcome outcome =
			row != nullptr ? try_to_lock(opened, row, details, now, retry_at) : Outcome::changed;
		row::close(opened, outcome == Outcome::granted);
		if (row == nullptr)
			read_denial(resource, now, nullptr);
		else
			heap_freetuple(row);
		if (outcome == Outcome::unreadable)
			return lock_by_statement(resource, details, now, retry_at);
		if (outcome != Outcome::changed)
			return outcome == Outcome::granted;
	}
}

} // namespace queue_ext::throttle
