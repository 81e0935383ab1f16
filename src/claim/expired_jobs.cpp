// expired_jobs.cpp - see expired_jobs.hpp.

#include "../postgres.hpp"

#include "expired_jobs.hpp"

#include "../catalog/column.hpp"
#include "../definition/archiving.hpp"
#include "../definition/shape.hpp"
#include "../error.hpp"
#include "../row/rights.hpp"
#include "../stats/transaction_counters.hpp"
#include "../wake/transaction_callbacks.hpp"
#include "claims_kept.hpp"
#include "dead_jobs.hpp"

namespace queue_ext::claim {

using catalog::find_column;
using definition::Definition;
using definition::OnExpire;
using statement::Arguments;
using statement::Parameter;
using statement::Statement;
using wake::at_once;

void
note_expired(Expired *expired, int64 id)
{
	if (expired->count == expired->room) {
		expired->room = Max(16, 2 * expired->room);
		const Size size = sizeof(int64) * expired->room;
		expired->ids = static_cast<int64 *>(expired->ids == nullptr
												? MemoryContextAlloc(expired->context, size)
												: repalloc(expired->ids, size));
	}
	expired->ids[expired->count++] = id;
}

namespace {

// The columns of the rows that a claim has returned.
struct Columns
{
	int id;
	int attempt;
	int expires_at;
	int released; // 0: the table has none
};

} // namespace

// Whether the row's job has expired. Its attempt is that of the claim.
static bool
is_expired(HeapTuple row, TupleDesc descriptor, const Columns &columns, TimestampTz now)
{
	bool is_null;
	const auto value = [&](int column) {
		return SPI_getbinval(row, descriptor, column, &is_null);
	};
	const TimestampTz expires_at = DatumGetTimestampTz(value(columns.expires_at));
	if (is_null || expires_at > now)
		return false;
	const int32 attempt = DatumGetInt32(value(columns.attempt));
	is_null = true;
	const Datum released = columns.released == 0 ? 0 : value(columns.released);
	return !was_started(attempt - 1, is_null ? 0 : DatumGetInt32(released));
}

uint64
take_unexpired(const Definition *definition, Expired *expired, TimestampTz now, uint64 count)
{
	if (!may_expire(definition) || expired == nullptr || count == 0)
		return count;
	const SPITupleTable *rows = SPI_tuptable;
	const TupleDesc descriptor = rows->tupdesc;
	const Columns columns{find_column(descriptor, "id", INT8OID),
						  find_column(descriptor, "attempt", INT4OID),
						  find_column(descriptor, "expires_at", TIMESTAMPTZOID),
						  find_column(descriptor, "released", INT4OID)};
	if (columns.id == 0 || columns.attempt == 0 || columns.expires_at == 0)
		return count;
	uint64 left = 0;
	for (uint64 i = 0; i < count; i++) {
		HeapTuple row = rows->vals[i];
		bool is_null;
		if (is_expired(row, descriptor, columns, now))
			note_expired(expired,
						 DatumGetInt64(SPI_getbinval(row, descriptor, columns.id, &is_null)));
		else
			rows->vals[left++] = row;
	}
	return left;
}

namespace {

// Which jobs a statement ends.
struct Which
{
	const char *condition; // of the row "t"
	bool are_claimed;      // by this transaction, which takes that back
};

} // namespace

// The jobs of the parameter. Code of users may have ended the claim of one already.
static Which
claimed_jobs()
{
	return {psprintf("t.id operator(pg_catalog.=) any (%s) and t.leased_until is not null",
					 placeholder(Parameter::ids)),
			true};
}

// Those of the array, which nobody has claimed.
static Which
unclaimed_jobs(const char *ids)
{
	return {psprintf("t.id operator(pg_catalog.=) any (%s)", ids), false};
}

// Those that expire from a time on. They stand in the index by expiry.
static Sought
sought_jobs(const Definition *definition)
{
	const char *released =
		definition::counts_releases(definition->source) ? "coalesce(j.released, 0)" : "0";
	return {"expires_at",
			psprintf(" and j.expires_at operator(pg_catalog.>=) %s and j.dead_at is null",
					 placeholder(Parameter::cutoff)),
			psprintf(" and coalesce(j.dead_at, j.leased_until) is null"
					 " and j.attempt operator(pg_catalog.<=) %s",
					 released)};
}

// What the statistics want to know of the jobs.
static constexpr const char *told =
	"id::pg_catalog.int8, priority::pg_catalog.int2, run_at::pg_catalog.timestamptz";

// The jobs are dead where they are. says_why: in last_error.
static const char *
burial_text(const Definition *definition, const Which &which, bool says_why)
{
	StringInfoData text;
	initStringInfo(&text);
	appendStringInfo(&text,
					 "update %s as t set dead_at = %s, leased_until = null, leased_by = null",
					 definition->source_name, placeholder(Parameter::call_time));
	if (says_why)
		appendStringInfoString(&text, ", last_error = 'expired'");
	if (which.are_claimed)
		appendStringInfoString(&text, ", attempt = t.attempt operator(pg_catalog.-) 1");
	if (which.are_claimed && definition::has_claimed_at(definition->source))
		appendStringInfoString(&text, ", claimed_at = case when t.attempt operator(pg_catalog.>) 1"
									  " then t.claimed_at end");
	appendStringInfo(&text, " where %s returning %s", which.condition, told);
	return text.data;
}

// What the archive gets of the jobs, which this transaction has claimed: each column as it was before.
static const char *
columns_before_claim(const Definition *definition)
{
	const char *second = definition::shared_second_columns(definition->source, definition->archive);
	static constexpr const char *claimed_at = ", claimed_at";
	const bool has_claim = strncmp(second, claimed_at, strlen(claimed_at)) == 0;
	return psprintf(
		"id, run_at, created_at, attempt operator(pg_catalog.-) 1 as attempt,"
		" max_attempts, priority, null::pg_catalog.text as leased_by, last_error, payload%s%s",
		has_claim ? ", case when attempt operator(pg_catalog.>) 1 then claimed_at end as claimed_at"
				  : "",
		has_claim ? second + strlen(claimed_at) : second);
}

// Raises 55000 if there is no archive.
static const char *
removal_text(const Definition *definition, const Which &which)
{
	if (!definition->is_archived)
		error::archive_missing(definition->name, definition->source_name);
	const char *archiving = archiving_text(definition, "gone", "expired", nullptr);
	return psprintf("with gone as (delete from %s as t where %s returning %s) %s returning %s",
					definition->source_name, which.condition,
					which.are_claimed ? columns_before_claim(definition) : "t.*", archiving, told);
}

static const char *
end_text(const Definition *definition, const Which &which)
{
	switch (definition->on_expire) {
		case OnExpire::dead:
			return burial_text(definition, which, true);
		case OnExpire::archive:
			return removal_text(definition, which);
		case OnExpire::remove:
			return psprintf("delete from %s as t where %s returning %s", definition->source_name,
							which.condition, told);
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
			case ClaimStatement::expire_claimed:
				return end_text(definition, claimed_jobs());
			case ClaimStatement::look_for_expired:
				return end_text(definition,
								unclaimed_jobs(ids_of_first(definition, sought_jobs(definition))));
			case ClaimStatement::expire_unclaimed:
				return end_text(definition,
								unclaimed_jobs(ids_of_all(definition, sought_jobs(definition))));
			default:
				return burial_text(definition, claimed_jobs(),
								   which == ClaimStatement::bury_expired_told);
		}
	});
}

// Counts the jobs that the last statement has ended as such that have left unclaimed, whoever has claimed them in this
// transaction. The note of a write is for a rollback: while a row was locked, claims may have passed it by.
static void
count_unstarted(Definition *definition, uint64 rows, TimestampTz now)
{
	if (rows == 0)
		return;
	wake::note_writes(definition->source, at_once);
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

// Returns how many jobs it has ended.
static int64
run_end(Definition *definition, ClaimStatement which, const Arguments &arguments, TimestampTz now)
{
	uint64 rows = 0;
	statement::with_spi([&] {
		rows = run(statement_for(definition, which), arguments);
		count_unstarted(definition, rows, now);
	});
	return static_cast<int64>(rows);
}

// The same, as the owner.
static int64
end_as_owner(Definition *definition, ClaimStatement which, const Arguments &arguments,
			 TimestampTz now, Manner manner)
{
	const bool is_dead = definition->on_expire == OnExpire::dead;
	const AclMode rights = ACL_SELECT | ACL_UPDATE | (is_dead ? 0 : ACL_DELETE);
	const Access accesses[] = {
		{definition->source, rights, is_dead ? TRIGGER_TYPE_UPDATE : TRIGGER_TYPE_DELETE},
		{definition->archive, ACL_SELECT | ACL_INSERT, TRIGGER_TYPE_INSERT}};
	const bool has_archive =
		definition->on_expire == OnExpire::archive && definition->archive_name != nullptr;
	int64 ended = 0;
	as_owner(accesses, has_archive ? 2 : 1, manner,
			 [&](Runner) { ended = run_end(definition, which, arguments, now); });
	return ended;
}

static Arguments
arguments_at(const Definition *definition, TimestampTz now)
{
	Arguments arguments(now);
	set_slot(definition, now, &arguments);
	return arguments;
}

static void
log_not_ended(const Definition *definition, const ErrorData *cause)
{
	error::log_expired_not_ended(definition->source_name, cause);
}

// A job that is neither handed out nor ended would come back when its lease ends, as one that was started.
static void
bury(Definition *definition, const Arguments &arguments, TimestampTz now)
{
	const AttrNumber last_error = get_attnum(definition->source, "last_error");
	const bool may_tell = row::has_right_on(definition->source, ACL_UPDATE, &last_error, 1);
	(void) run_end(definition,
				   may_tell ? ClaimStatement::bury_expired_told : ClaimStatement::bury_expired,
				   arguments, now);
}

// A trigger may have suppressed what was to be done with a job.
static void
end_batch(Definition *definition, const int64 *ids, int count)
{
	const TimestampTz now = GetCurrentTimestamp();
	auto *values = static_cast<Datum *>(palloc(sizeof(Datum) * count));
	for (int i = 0; i < count; i++)
		values[i] = Int64GetDatum(ids[i]);
	Arguments arguments = arguments_at(definition, now);
	arguments.set(Parameter::ids,
				  PointerGetDatum(construct_array(values, count, INT8OID, sizeof(int64),
												  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE)));
	const bool is_done = unless_hindered(definition, Look::expired, log_not_ended, [&] {
		if (end_as_owner(definition, ClaimStatement::expire_claimed, arguments, now,
						 Manner::plain) != count)
			error::expired_suppressed(definition->source_name);
	});
	if (!is_done)
		bury(definition, arguments, now);
	if (!is_done || definition->on_expire == OnExpire::dead)
		move_failed(definition, ids, count, now);
}

// What the claims have written is to be visible.
void
end_expired(Definition *definition, Expired *expired)
{
	if (expired->count == 0)
		return;
	CommandCounterIncrement();
	for (int first = 0; first < expired->count; first += look_batch_size) {
		CHECK_FOR_INTERRUPTS();
		end_batch(definition, expired->ids + first, Min(look_batch_size, expired->count - first));
	}
	expired->ended += expired->count;
	expired->count = 0;
}

// Locks the archive that expired jobs go to. A look waits for no one, as that of dead jobs.
static bool
lock_archive(const Definition *definition, ClaimStatement which)
{
	if (definition->on_expire != OnExpire::archive || !OidIsValid(definition->archive))
		return true;
	if (which == ClaimStatement::look_for_expired)
		return lock_if_free(definition->archive);
	LockRelationOid(definition->archive, RowExclusiveLock);
	return true;
}

// Whether expired jobs can be looked for, by a statement of the definition; the archive is locked then. Not where a table has
// changed since that was made: the next look has a new one.
static bool
may_look(const Definition *definition, ClaimStatement which)
{
	return may_expire(definition) && definition::has_expires_at(definition->source) &&
		   lock_archive(definition, which) && definition->dependent.is_valid;
}

// Ends a batch of those that expire from that time on.
static int64
expire_from(Definition *definition, ClaimStatement which, TimestampTz from, TimestampTz now,
			Manner manner)
{
	Arguments arguments = arguments_at(definition, now);
	arguments.set(Parameter::cutoff, TimestampTzGetDatum(from));
	return end_as_owner(definition, which, arguments, now, manner);
}

BatchResult
expire_batch(Definition *definition, TimestampTz now, Manner manner)
{
	constexpr ClaimStatement which = ClaimStatement::expire_unclaimed;
	const int64 ended =
		may_look(definition, which) ? expire_from(definition, which, DT_NOBEGIN, now, manner) : 0;
	return batch_of(definition, ended);
}

// A look of a claim. Those that were started in time, and have not ended, stand in the index, too, and there may be many.
// So a look begins where the one before it has ended, as long as it has not found a full batch; but for the first one of a
// minute, for what was committed late, given back, or locked. An owner may have dropped the index.
static void
look(Definition *definition, TimestampTz now)
{
	constexpr int64 period = USECS_PER_MINUTE;
	constexpr ClaimStatement which = ClaimStatement::look_for_expired;
	if (!OidIsValid(definition::expiry_index(definition->source)) || !may_look(definition, which))
		return;
	auto *kept = definition::beside<ClaimsKept>(definition);
	if (now >= kept->expired_again || kept->expired_again - now > period) {
		kept->expired_from = DT_NOBEGIN;
		kept->expired_again = now + period;
	}
	const int64 ended = expire_from(definition, which, kept->expired_from, now, Manner::plain);
	if (ended < look_batch_size)
		kept->expired_from = now;
}

void
expire_sometimes(Definition *definition, TimestampTz now)
{
	if (may_expire(definition))
		look_sometimes(definition, Look::expired, now, log_not_ended,
					   [&] { look(definition, now); });
}

void
expire_more(Definition *definition, TimestampTz now)
{
	hasten_look(definition, Look::expired);
	expire_sometimes(definition, now);
}

} // namespace queue_ext::claim
