// expired_jobs.cpp - see expired_jobs.hpp.
//
// A batch takes two statements: the first finds the jobs and locks them, the second ends them. So
// it is known how many there were, where a trigger suppresses the end of one. A look finds them before it locks any, or
// the archive: it leaves no lock where there are none.

#include "../postgres.hpp"

#include "expired_jobs.hpp"

#include "../definition/archiving.hpp"
#include "../definition/shape.hpp"
#include "../error.hpp"
#include "../statement/subtransaction.hpp"
#include "../stats/transaction_counters.hpp"
#include "../wake/transaction_callbacks.hpp"
#include "claims_kept.hpp"
#include "expiry_rule.hpp"

namespace queue_ext::claim {

using definition::Definition;
using definition::OnExpire;
using statement::Arguments;
using statement::Parameter;
using statement::Statement;

// Those that expired at a time or later. They stand in the index by expiry.
static Sought
sought_jobs(const Definition *definition)
{
	return {"expires_at",
			psprintf(" and j.expires_at operator(pg_catalog.>=) %s and j.dead_at is null",
					 placeholder(Parameter::cutoff)),
			psprintf(" and j.dead_at is null and %s and %s",
					 idle_text("j", placeholder(Parameter::call_time)),
					 unstarted_text(definition, "j"))};
}

// What the statistics want to know of the jobs.
static constexpr const char *told =
	"id::pg_catalog.int8, priority::pg_catalog.int2, run_at::pg_catalog.timestamptz";

// Raises 55000 if there is no archive.
static const char *
archival_text(const Definition *definition, const char *condition)
{
	if (!definition->is_archived)
		error::archive_missing(definition->name, definition->source_name);
	return psprintf("with gone as (delete from %s as t where %s returning t.*) %s returning %s",
					definition->source_name, condition,
					archiving_text(definition, "gone", "expired", nullptr), told);
}

static const char *
end_text(const Definition *definition)
{
	const char *condition =
		psprintf("t.id operator(pg_catalog.=) any (%s)", placeholder(Parameter::ids));
	switch (definition->on_expire) {
		case OnExpire::dead:
			return psprintf(
				"update %s as t set dead_at = %s, last_error = 'expired' where %s returning %s",
				definition->source_name, placeholder(Parameter::call_time), condition, told);
		case OnExpire::archive:
			return archival_text(definition, condition);
		case OnExpire::remove:
			return psprintf("delete from %s as t where %s returning %s", definition->source_name,
							condition, told);
		case OnExpire::none:
			break;
	}
	pg_unreachable();
}

static const Statement &
statement_for(Definition *definition, ClaimStatement which)
{
	return prepared_of(definition, kept_for_claims(definition, which), [&] {
		constexpr const char *columns = "j.id::pg_catalog.int8, j.expires_at";
		switch (which) {
			case ClaimStatement::look_for_expired:
				return select_tried(definition, sought_jobs(definition), columns);
			case ClaimStatement::lock_expired:
				return lock_among(definition, sought_jobs(definition), placeholder(Parameter::ids),
								  columns);
			case ClaimStatement::find_expired:
				return select_all(definition, sought_jobs(definition), columns);
			default:
				return end_text(definition);
		}
	});
}

namespace {

// The jobs of a batch, or those that a look tries.
struct Batch
{
	int count;
	TimestampTz last; // when the last of them has expired
	Datum ids;
};

} // namespace

// Those that the last statement has found, and that are still sought, if it says that.
static Batch
found_batch(uint64 rows)
{
	Batch batch{};
	auto *ids = static_cast<Datum *>(palloc(sizeof(Datum) * Max(rows, 1)));
	for (uint64 i = 0; i < rows; i++) {
		bool is_null;
		const auto value = [&](int column) {
			return SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, column, &is_null);
		};
		constexpr int says = 3;
		const bool is_sought =
			SPI_tuptable->tupdesc->natts < says || (DatumGetBool(value(says)) && !is_null);
		if (!is_sought)
			continue;
		ids[batch.count++] = value(1);
		batch.last = DatumGetTimestampTz(value(2));
	}
	batch.ids = PointerGetDatum(construct_array(ids, batch.count, INT8OID, sizeof(int64),
												FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	return batch;
}

// Locks a batch of the jobs of a look. Others may have changed some since they were found: these get no lock, which would last
// until the worker's end. Where that goes on it locks none.
static Batch
lock_batch(Definition *definition, Arguments arguments)
{
	const Statement &statement = statement_for(definition, ClaimStatement::lock_expired);
	for (int tries = 0; tries < 3; tries++) {
		Batch batch;
		const bool is_locked = statement::committed_if([&] {
			const uint64 rows = run(statement, arguments);
			batch = found_batch(rows);
			return rows == static_cast<uint64>(batch.count);
		});
		if (is_locked)
			return batch;
		arguments.set(Parameter::ids, batch.ids);
	}
	return Batch{};
}

// Counts the jobs that the last statement has ended. The note of a write also has those told who wait for the end of one.
static void
count_unstarted(Definition *definition, uint64 rows, TimestampTz now)
{
	wake::note_writes(definition->source, wake::at_once);
	stats::TransactionCounters *counters = stats::counters_of(definition);
	if (counters == nullptr)
		return;
	stats::Removed removed = stats::none_removed;
	for (uint64 i = 0; i < rows; i++) {
		const auto value = [&](int column) {
			bool is_null;
			return SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, column, &is_null);
		};
		stats::add_removed(&removed, DatumGetInt16(value(2)),
						   {DatumGetTimestampTz(value(3)), DT_NOBEGIN, DT_NOBEGIN}, now);
	}
	counters->counts.add(stats::Counter::unstarted, static_cast<int64>(rows));
	stats::note_removed(counters, removed);
}

// Finds and locks a batch, and ends it. which: the statement that finds and locks.
static Batch
end_batch(Definition *definition, ClaimStatement which, Arguments arguments)
{
	const TimestampTz now = arguments.call_time();
	set_slot(definition, now, &arguments);
	Batch batch{};
	statement::with_spi([&] {
		batch = which == ClaimStatement::lock_expired
					? lock_batch(definition, arguments)
					: found_batch(run(statement_for(definition, which), arguments));
		if (batch.count == 0)
			return;
		arguments.set(Parameter::ids, batch.ids);
		const uint64 ended = run(statement_for(definition, ClaimStatement::end_expired), arguments);
		if (ended != static_cast<uint64>(batch.count))
			error::expired_suppressed(definition->source_name);
		count_unstarted(definition, ended, now);
	});
	return batch;
}

// What that does with the queue's table.
static Access
access_of_source(const Definition *definition)
{
	const bool is_dead = definition->on_expire == OnExpire::dead;
	const AclMode rights = ACL_SELECT | ACL_UPDATE | (is_dead ? 0 : ACL_DELETE);
	return {definition->source, rights, is_dead ? TRIGGER_TYPE_UPDATE : TRIGGER_TYPE_DELETE};
}

// The same, as the owner; slot: the one of the archive, if there is one.
static Batch
end_as_owner(Definition *definition, ClaimStatement which, const Arguments &arguments, Oid slot,
			 Manner manner)
{
	const Access accesses[] = {
		access_of_source(definition),
		{definition->archive, ACL_SELECT | ACL_INSERT, TRIGGER_TYPE_INSERT, slot}};
	const bool has_archive =
		definition->on_expire == OnExpire::archive && definition->archive_name != nullptr;
	const int count = has_archive ? 2 : 1;
	Batch batch{};
	as_owner(accesses, count, manner, [&](Runner) {
		if (which == ClaimStatement::lock_expired)
			check_defers_nothing(accesses, count);
		batch = end_batch(definition, which, arguments);
	});
	return batch;
}

// Finds those that a look tries, as the owner.
static Batch
find_as_owner(Definition *definition, const Arguments &arguments)
{
	constexpr ClaimStatement which = ClaimStatement::look_for_expired;
	const Access access = access_of_source(definition);
	const MemoryContext context = CurrentMemoryContext;
	Batch batch{};
	as_owner(&access, 1, Manner::plain, [&](Runner) {
		statement::with_spi([&] {
			batch = found_batch(run_newest(statement_for(definition, which), arguments));
			// SPI frees what was made here.
			MemoryContext spi = MemoryContextSwitchTo(context);
			batch.ids = datumCopy(batch.ids, false, -1);
			MemoryContextSwitchTo(spi);
		});
	});
	return batch;
}

static void
log_not_ended(const Definition *definition, const ErrorData *cause)
{
	error::log_expired_not_ended(definition->source_name, cause);
}

// Locks the archive that expired jobs go to, and its slot. A look waits for no one, as that of dead jobs.
static bool
lock_archive(const Definition *definition, ClaimStatement which, TimestampTz now, Oid *slot)
{
	const Oid archive = definition->archive;
	*slot = InvalidOid;
	if (definition->on_expire != OnExpire::archive || !OidIsValid(archive))
		return true;
	if (which != ClaimStatement::lock_expired)
		LockRelationOid(archive, RowExclusiveLock);
	else if (!ConditionalLockRelationOid(archive, RowExclusiveLock))
		return false;
	*slot = definition::find_slot(definition, now);
	return which != ClaimStatement::lock_expired ||
		   lock_if_free(OidIsValid(*slot) ? *slot : archive);
}

// Whether expired jobs can be looked for, by a statement of the definition. Not where a table has changed since that was made:
// the next look has a new one.
static bool
may_look(const Definition *definition)
{
	return may_expire(definition) && definition::has_expires_at(definition->source) &&
		   definition->dependent.is_valid;
}

// Those that expired at that time or later.
static Arguments
arguments_from(TimestampTz from, TimestampTz now)
{
	Arguments arguments(now);
	arguments.set(Parameter::cutoff, TimestampTzGetDatum(from));
	return arguments;
}

BatchResult
expire_batch(Definition *definition, TimestampTz now, Manner manner, TimestampTz *from)
{
	constexpr ClaimStatement which = ClaimStatement::find_expired;
	Oid slot;
	if (!may_look(definition) || !lock_archive(definition, which, now, &slot) ||
		!definition->dependent.is_valid)
		return batch_of(definition, 0);
	defer_nothing();
	const Batch batch = end_as_owner(definition, which, arguments_from(*from, now), slot, manner);
	if (batch.count > 0)
		*from = batch.last;
	return batch_of(definition, batch.count);
}

// Ends a batch of those that a look has found. False if another session has the archive locked, or a table has changed.
static bool
end_found(Definition *definition, const Batch &found, Arguments arguments, Batch *ended)
{
	constexpr ClaimStatement which = ClaimStatement::lock_expired;
	*ended = {};
	if (found.count == 0)
		return true;
	Oid slot;
	if (!lock_archive(definition, which, arguments.call_time(), &slot) ||
		!definition->dependent.is_valid)
		return false;
	arguments.set(Parameter::ids, found.ids);
	*ended = end_as_owner(definition, which, arguments, slot, Manner::plain);
	return true;
}

// Where the next look begins: behind those that this one has tried, if others have them locked. There may be more of one moment
// than it tries.
static TimestampTz
next_from(const Batch &found, const Batch &ended, TimestampTz from, TimestampTz now)
{
	if (ended.count == look_batch_size)
		return ended.last;
	if (found.count < most_tried)
		return now;
	return found.last > from ? found.last : from + 1;
}

// A look of a claim. Those that were started in time, and have not ended, stand in the index, too, and there may be many.
// So a look begins where the one before it has ended; but for the first one of a minute, for what was committed late, given
// back, or locked. An owner may have dropped the index.
static void
look(Definition *definition, TimestampTz now)
{
	constexpr int64 period = USECS_PER_MINUTE;
	if (!OidIsValid(definition::expiry_index(definition->source)) || !may_look(definition))
		return;
	auto *kept = definition::beside<ClaimsKept>(definition);
	if (now >= kept->expired_again || kept->expired_again - now > period) {
		kept->expired_from = DT_NOBEGIN;
		kept->expired_again = now + period;
	}
	const Arguments arguments = arguments_from(kept->expired_from, now);
	const Batch found = find_as_owner(definition, arguments);
	Batch batch;
	if (end_found(definition, found, arguments, &batch))
		kept->expired_from = next_from(found, batch, kept->expired_from, now);
}

void
expire_sometimes(Definition *definition, TimestampTz now)
{
	if (may_expire(definition))
		look_sometimes(definition, Look::expired, now, log_not_ended,
					   [&] { look(definition, now); });
}

} // namespace queue_ext::claim
