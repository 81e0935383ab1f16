// expired_jobs.cpp - see expired_jobs.hpp.
//
// One statement locks the jobs of a batch, and another one ends them. So it is known how many there were, where a trigger
// suppresses the end of one. A look finds them before, by a statement more: it leaves no lock where there are none.

#include "../postgres.hpp"

#include "expired_jobs.hpp"

#include "../compat.hpp"
#include "../definition/archiving.hpp"
#include "../definition/queue_indexes.hpp"
#include "../definition/shape.hpp"
#include "../error.hpp"
#include "../statement/subtransaction.hpp"
#include "../stats/transaction_counters.hpp"
#include "../wake/written.hpp"
#include "claims_kept.hpp"
#include "expiry_rule.hpp"

namespace queue_ext::claim {

using definition::Definition;
using definition::OnExpire;
using statement::Arguments;
using statement::Parameter;
using statement::Statement;

// A condition, of that row: nobody has the job in hand, nor has started it.
static const char *
is_left(const Definition *definition, const char *row)
{
	return psprintf("%s and %s", idle_text(row, placeholder(Parameter::call_time)),
					unstarted_text(definition, row));
}

// Those behind a place in the order of their expiry. They stand in its index.
static Sought
sought_jobs(const Definition *definition)
{
	const char *behind = psprintf("%s and j.dead_at is null", behind_text("expires_at"));
	const char *others = psprintf("j.dead_at is null and %s", is_left(definition, "j"));
	return {"expires_at", "j.expires_at, j.id", behind, others};
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

// A condition, of that row: it is among the jobs of Parameter::ids, and to be ended. Children of a table may have equal ids. The
// conditions of the others are such as no index serves.
static const char *
is_to_end(const Definition *definition, const char *row)
{
	return psprintf("%s.id operator(pg_catalog.=) any (%s) and pg_catalog.num_nulls(%s.dead_at) "
					"operator(pg_catalog.=) 1"
					" and coalesce(%s.expires_at, 'infinity') operator(pg_catalog.<=) %s and %s",
					row, placeholder(Parameter::ids), row, row, placeholder(Parameter::call_time),
					is_left(definition, row));
}

static const char *
end_text(const Definition *definition)
{
	const char *condition = is_to_end(definition, "t");
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
		switch (which) {
			case ClaimStatement::look_for_expired:
				return select_first(definition, sought_jobs(definition));
			case ClaimStatement::lock_expired:
				return lock_among(definition, sought_jobs(definition));
			case ClaimStatement::find_expired:
				return select_all(definition, sought_jobs(definition),
								  "j.id::pg_catalog.int8, j.expires_at");
			case ClaimStatement::expired_stay:
				return stays_text(definition, is_to_end(definition, "s"));
			default:
				return end_text(definition);
		}
	});
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

// A job of the arguments was not ended: it has stayed, or the archive has not taken it.
[[noreturn]] static void
raise_suppressed(Definition *definition, const Arguments &arguments)
{
	const bool has_left =
		definition->on_expire == OnExpire::archive &&
		run(statement_for(definition, ClaimStatement::expired_stay), arguments) == 0;
	error::expired_suppressed(has_left ? definition->archive_name : definition->source_name);
}

// Finds and locks a batch, and ends it. which: the statement that finds and locks. *last: the last job of the batch, from when it
// is locked.
static FoundBatch
end_batch(Definition *definition, ClaimStatement which, Arguments arguments, JobPlace *last)
{
	const TimestampTz now = arguments.call_time();
	set_slot(definition, now, &arguments);
	FoundBatch batch{};
	statement::with_spi([&] {
		const Statement &statement = statement_for(definition, which);
		batch = which == ClaimStatement::lock_expired ? lock_sought(statement, arguments)
													  : found_jobs(run(statement, arguments));
		if (batch.count == 0)
			return;
		*last = batch.last;
		arguments.set(Parameter::ids, batch.ids);
		const uint64 ended = run(statement_for(definition, ClaimStatement::end_expired), arguments);
		if (ended < static_cast<uint64>(batch.count))
			raise_suppressed(definition, arguments);
		count_unstarted(definition, ended, now);
	});
	return batch;
}

// What that does with the queue's table.
static TableAccess
access_of_source(const Definition *definition)
{
	const bool is_dead = definition->on_expire == OnExpire::dead;
	const AclMode rights = ACL_SELECT | ACL_UPDATE | (is_dead ? 0 : ACL_DELETE);
	return {definition->source, rights, is_dead ? TRIGGER_TYPE_UPDATE : TRIGGER_TYPE_DELETE};
}

// The same, as the owner; slot: the one of the archive, if there is one.
static FoundBatch
end_as_owner(Definition *definition, ClaimStatement which, const Arguments &arguments, Oid slot,
			 Manner manner, JobPlace *last)
{
	const TableAccess accesses[] = {
		access_of_source(definition),
		{definition->archive, ACL_SELECT | ACL_INSERT, TRIGGER_TYPE_INSERT, slot}};
	const bool has_archive =
		definition->on_expire == OnExpire::archive && definition->archive_name != nullptr;
	const int count = has_archive ? 2 : 1;
	FoundBatch batch{};
	as_owner(accesses, count, manner, [&](Runner) {
		if (which == ClaimStatement::lock_expired)
			check_defers_nothing(accesses, count);
		batch = end_batch(definition, which, arguments, last);
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
lock_expired_archive(const Definition *definition, ClaimStatement which, TimestampTz now, Oid *slot)
{
	*slot = InvalidOid;
	if (definition->on_expire != OnExpire::archive || !OidIsValid(definition->archive))
		return true;
	return lock_archive(definition, now, which != ClaimStatement::lock_expired, slot);
}

// Whether expired jobs can be looked for, by a statement of the definition. Not where a table has changed since that was made:
// the next look has a new one.
static bool
may_look(const Definition *definition)
{
	return may_expire(definition) && definition::has_expires_at(definition->source) &&
		   definition->dependent.is_valid;
}

static Arguments
arguments_behind(const JobPlace &place, TimestampTz now)
{
	Arguments arguments(now);
	set_place(place, &arguments);
	return arguments;
}

BatchResult
expire_batch(Definition *definition, TimestampTz now, Manner manner, JobPlace *behind)
{
	constexpr ClaimStatement which = ClaimStatement::find_expired;
	Oid slot;
	if (!may_look(definition) || !lock_expired_archive(definition, which, now, &slot) ||
		!definition->dependent.is_valid)
		return batch_of(definition, 0);
	const FoundBatch batch =
		end_as_owner(definition, which, arguments_behind(*behind, now), slot, manner, behind);
	return batch_of(definition, batch.count);
}

// Ends a batch of those that a look has found. False if another session has the archive locked, or a table has changed.
static bool
end_found(Definition *definition, const FoundBatch &found, Arguments arguments, FoundBatch *ended)
{
	constexpr ClaimStatement which = ClaimStatement::lock_expired;
	*ended = {};
	if (found.count == 0)
		return true;
	Oid slot;
	// What was locked before one that is not free is given back.
	const bool is_locked = statement::committed_if(
		[&] { return lock_expired_archive(definition, which, arguments.call_time(), &slot); });
	if (!is_locked || !definition->dependent.is_valid)
		return false;
	arguments.set(Parameter::ids, found.ids);
	JobPlace last;
	*ended = end_as_owner(definition, which, arguments, slot, Manner::plain, &last);
	return true;
}

namespace {

// The looks of this backend pass all expired jobs of a table, some at a time, and begin anew later.
struct Pass
{
	Oid source;        // the key
	bool is_under_way; // there were more
	JobPlace behind;   // it has come to that one
	TimestampTz again; // the next pass begins then, or when this one is over
	TimestampTz at;    // the last look
	// The transaction of the last that has ended some, or its subtransaction; invalid if that is known to be committed.
	TransactionId ended_by;
};

} // namespace

static HTAB *passes = nullptr;

static Pass *
pass_of(Oid source)
{
	bool is_found;
	auto *pass = kept_of<Pass>(&passes, "queue_ext passes of expired jobs", source, &is_found);
	if (!is_found)
		*pass = {source, false, before_all, 0, 0, InvalidTransactionId};
	return pass;
}

// Whether the transaction is known to have committed, as pg_xact_status() asks it.
static bool
has_committed(TransactionId transaction)
{
	LWLockAcquire(XactTruncationLock, LW_SHARED);
	const bool has =
		TransactionIdFollowsOrEquals(transaction, compat::oldest_known_transaction()) &&
		TransactionIdDidCommit(transaction);
	LWLockRelease(XactTruncationLock);
	return has;
}

// Whether what the looks of the pass have ended stays so, as far as this transaction knows. A claim may be rolled back, with
// the look before it; and who has prepared its transaction leaves open what becomes of that.
static bool
has_stayed(Pass *pass)
{
	if (!TransactionIdIsValid(pass->ended_by) ||
		TransactionIdIsCurrentTransactionId(pass->ended_by))
		return true;
	const bool is_committed = has_committed(pass->ended_by);
	pass->ended_by = InvalidTransactionId;
	return is_committed;
}

// A pass begins once a minute, if the one before it has come to the end, and sees again what was committed late, given back, or
// locked. Numbers of transactions come round again, so it begins anew after an hour without a look, too; and where the clock was
// set back.
static void
begin_pass_if_due(Pass *pass, TimestampTz now)
{
	constexpr int64 period = USECS_PER_MINUTE;
	const bool is_due = now >= pass->again || pass->again - now > period;
	const bool is_old = now - pass->at > USECS_PER_HOUR || now < pass->at;
	if ((is_due && !pass->is_under_way) || is_old || !has_stayed(pass))
		*pass = {pass->source, true, before_all, now + period, now, InvalidTransactionId};
	pass->at = now;
}

// Those that were started in time, and have not ended, stand in the index, too, and there may be many, as there may be many
// that others have locked. So each look goes on behind those that the one before it has read; or has ended, if there
// were more than a batch.
static void
note_look(Pass *pass, const FoundBatch &found, const FoundBatch &ended)
{
	if (!ended.is_full && found.read > 0)
		pass->behind = found.last_read;
	else if (ended.count > 0)
		pass->behind = ended.last;
	pass->is_under_way = ended.is_full || found.read == most_read;
	if (ended.count > 0)
		pass->ended_by = GetCurrentTransactionId();
}

// A look of a claim. An owner may have dropped the index. What hinders the end of one job hinders that of its batch, and no more: the
// next look goes on behind.
static void
look(Definition *definition, TimestampTz now)
{
	if (!OidIsValid(definition::expiry_index(definition->source)) || !may_look(definition))
		return;
	Pass *pass = pass_of(definition->source);
	begin_pass_if_due(pass, now);
	const JobPlace behind = pass->behind;
	const Arguments arguments = arguments_behind(behind, now);
	const FoundBatch found =
		find_as_owner(definition->source, arguments, [&]() -> const Statement & {
			return statement_for(definition, ClaimStatement::look_for_expired);
		});
	if (found.count > 0)
		pass->behind = found.last;
	FoundBatch ended;
	if (end_found(definition, found, arguments, &ended))
		note_look(pass, found, ended);
	else
		pass->behind = behind;
}

bool
expire_sometimes(Definition *definition, TimestampTz now)
{
	return may_expire(definition) && look_sometimes(definition, LookKind::expired, now,
													log_not_ended, [&] { look(definition, now); });
}

} // namespace queue_ext::claim
