// removed.cpp - see removed.hpp.

#include "../postgres.hpp"

#include "removed.hpp"

#include "../claim/compiled_claim.hpp"
#include "../claim/given_back.hpp"
#include "../row/rights.hpp"
#include "../statement/statement.hpp"
#include "../wake/written.hpp"

namespace queue_ext::queue {

using definition::Definition;
using statement::Parameter;
using stats::Removed;

// Names that no column of the archive should have.
static constexpr const char *lease_end = "queue_ext_lease_end";
static constexpr const char *death_at = "queue_ext_death";
static constexpr const char *numbers = "queue_ext_removed";
static constexpr const char *times = "queue_ext_left";

static const char *
first_death_text()
{
	return psprintf(", (select pg_catalog.min(f.dead_at) from finished as f"
					" where f.leased_until is not null) as %s",
					death_at);
}

const char *
lease_text(const Definition *definition, const char *death)
{
	return definition->is_archived
			   ? psprintf(", (select pg_catalog.min(f.leased_until) from finished as f) as %s%s",
						  lease_end, first_death_text())
			   : psprintf(", t.leased_until as %s, %s as %s", lease_end, death, death_at);
}

const char *
death_text(const Definition *definition)
{
	if (get_attnum(definition->source, "leased_until") == InvalidAttrNumber)
		return "";
	return definition->is_archived
			   ? first_death_text()
			   : psprintf(", case when t.leased_until is not null then t.dead_at end as %s",
						  death_at);
}

// The numbers, and the first and last run_at, that stats::add_removed() would make of the rows.
static const char *
states_of_finished()
{
	const char *now = placeholder(Parameter::call_time);
	const char *alive = psprintf("(f.dead_at is null or f.dead_at operator(pg_catalog.>) %s)", now);
	return psprintf(
		", (select array[pg_catalog.count(*) filter (where f.leased_until is null and %1$s"
		" and f.run_at operator(pg_catalog.<=) %2$s),"
		" pg_catalog.count(*) filter (where f.leased_until is null and %1$s"
		" and f.run_at operator(pg_catalog.>) %2$s),"
		" pg_catalog.count(*) filter (where f.leased_until is not null and %1$s)]"
		" from finished as f) as %3$s,"
		" (select array[pg_catalog.min(f.run_at), pg_catalog.max(f.run_at)] from finished as f"
		" where %1$s and (f.leased_until is null or f.leased_until operator(pg_catalog.<=) %2$s)"
		") as %4$s%5$s",
		alive, now, numbers, times, first_death_text());
}

const char *
states_text(const Definition *definition)
{
	return definition->is_archived ? states_of_finished()
								   : ", t.priority, t.run_at, t.leased_until, t.dead_at";
}

// An archive takes all columns anyway.
bool
may_tell_states(Definition *definition)
{
	if (!stats::is_on())
		return false;
	const claim::CompiledClaim *claim = claim::compiled_claim_of(definition);
	if (!claim->managed.has_columns || claim->managed.dead_at == InvalidAttrNumber)
		return false;
	const AttrNumber columns[] = {claim->managed.priority, claim->managed.run_at,
								  claim->managed.leased_until, claim->managed.dead_at};
	return definition->is_archived ||
		   row::has_right_on(definition->source, ACL_SELECT, columns, lengthof(columns));
}

// The first of the times in that column of SPI_tuptable; PG_INT64_MAX: there is none, or no such column.
static TimestampTz
first_time(const char *name)
{
	const int column = SPI_fnumber(SPI_tuptable->tupdesc, name);
	TimestampTz first = PG_INT64_MAX;
	if (column > 0 && SPI_gettypeid(SPI_tuptable->tupdesc, column) != TIMESTAMPTZOID)
		return PG_INT64_MIN;
	for (uint64 i = 0; column > 0 && i < SPI_tuptable->numvals; i++) {
		bool is_null;
		const Datum at =
			SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, column, &is_null);
		if (!is_null)
			first = Min(first, DatumGetTimestampTz(at));
	}
	return first;
}

void
note_late(Definition *definition, TimestampTz now)
{
	const TimestampTz death = first_time(death_at);
	const bool is_late = first_time(lease_end) <= now;
	stats::TransactionCounters *counters =
		is_late || death != PG_INT64_MAX ? stats::counters_of(definition) : nullptr;
	if (counters == nullptr)
		return;
	if (is_late)
		stats::note_some_left(counters);
	claim::note_death_of(definition->source, counters, death);
}

void
note_completed(Definition *definition, TimestampTz now)
{
	note_late(definition, now);
	const TimestampTz due = first_time(lease_end);
	wake::note_writes(definition->source, due == PG_INT64_MAX ? wake::at_once : due);
}

// The elements of the array in that column of the first row; false if it is null, or has nulls. All are of 8
// bytes.
static bool
read_array(const char *name, Oid type, Datum *elements, int count)
{
	bool is_null;
	const TupleDesc columns = SPI_tuptable->tupdesc;
	const Datum array =
		SPI_getbinval(SPI_tuptable->vals[0], columns, SPI_fnumber(columns, name), &is_null);
	if (is_null)
		return false;
	Datum *values;
	bool *nulls;
	int length;
	deconstruct_array(DatumGetArrayTypeP(array), type, sizeof(int64), FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, &values, &nulls, &length);
	for (int i = 0; i < count; i++) {
		if (i >= length || nulls[i])
			return false;
		elements[i] = values[i];
	}
	return true;
}

// What states_of_finished() has returned.
static Removed
read_finished()
{
	Removed removed = stats::none_removed;
	Datum found[3] = {};
	// Not to know how many there were is as not to know of one that has died.
	removed.death =
		read_array(numbers, INT8OID, found, lengthof(found)) ? first_time(death_at) : PG_INT64_MIN;
	removed.ready = DatumGetInt64(found[0]);
	removed.scheduled = DatumGetInt64(found[1]);
	removed.leased = DatumGetInt64(found[2]);
	if (read_array(times, TIMESTAMPTZOID, found, 2))
		removed.left = {stats::all_left.priorities,
						{DatumGetTimestampTz(found[0]), DatumGetTimestampTz(found[1])}};
	// Or before.
	if (removed.scheduled > 0)
		removed.due = removed.left.times.from;
	return removed;
}

// What the DELETE has returned, row by row, after the id.
static Removed
read_deleted(TimestampTz now)
{
	enum Column : int { priority = 2, run_at, leased_until, dead_at };
	Removed removed = stats::none_removed;
	for (uint64 i = 0; i < SPI_tuptable->numvals; i++) {
		bool is_null;
		const auto value = [&](Column column) {
			return SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, column, &is_null);
		};
		const auto time = [&](Column column) {
			const Datum found = value(column);
			return is_null ? DT_NOBEGIN : DatumGetTimestampTz(found);
		};
		const stats::JobTimes job{time(run_at), time(leased_until), time(dead_at)};
		stats::add_removed(&removed, DatumGetInt16(value(priority)), job, now);
	}
	return removed;
}

void
note_cancelled(Definition *definition, TimestampTz now)
{
	stats::TransactionCounters *counters =
		SPI_tuptable->numvals == 0 ? nullptr : stats::counters_of(definition);
	if (counters == nullptr)
		return;
	if (SPI_tuptable->tupdesc->natts == 1) {
		counters->is_blind = true;
		return;
	}
	const Removed removed = definition->is_archived ? read_finished() : read_deleted(now);
	note_removed(counters, removed);
	claim::note_death_of(definition->source, counters, removed.death);
}

} // namespace queue_ext::queue
