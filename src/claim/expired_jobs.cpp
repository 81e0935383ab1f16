// expired_jobs.cpp - see expired_jobs.hpp.

#include "../postgres.hpp"

#include "expired_jobs.hpp"

#include "../catalog/column.hpp"
#include "../definition/keep.hpp"
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

// Those that others have locked are being claimed, or changed. What is looked for stands in the index by expiry.
static Which
unclaimed_jobs(const Definition *definition)
{
	const char *released =
		definition::counts_releases(definition->source) ? "coalesce(e.released, 0)" : "0";
	return {psprintf("t.id operator(pg_catalog.=) any (array(select e.id from %s as e"
					 " where e.expires_at operator(pg_catalog.>=) %s"
					 " and e.expires_at operator(pg_catalog.<=) %s and e.dead_at is null"
					 " and e.leased_until is null and e.attempt operator(pg_catalog.<=) %s"
					 " order by e.expires_at limit %d for update skip locked))",
					 definition->source_name, placeholder(Parameter::cutoff),
					 placeholder(Parameter::call_time), released, look_batch_size),
			false};
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

// Raises 55000 if there is no archive.
static const char *
archiving_text(const Definition *definition, const Which &which)
{
	if (!definition->is_archived || definition->archive_name == nullptr)
		error::archive_missing(definition->name, definition->source_name);
	// Each other column gets what the job has there.
	static constexpr const char *first = "id, run_at, created_at, attempt, max_attempts, priority,"
										 " leased_by, last_error, payload";
	const char *values = which.are_claimed
							 ? "id, run_at, created_at, attempt operator(pg_catalog.-) 1,"
							   " max_attempts, priority, null, last_error, payload"
							 : first;
	const char *second = definition::shared_second_columns(definition->source, definition->archive);
	static constexpr const char *claimed_at = ", claimed_at";
	const bool has_claim =
		which.are_claimed && strncmp(second, claimed_at, strlen(claimed_at)) == 0;
	const char *second_values =
		has_claim ? psprintf(", case when attempt operator(pg_catalog.>) 1 then claimed_at end%s",
							 second + strlen(claimed_at))
				  : second;
	return psprintf("with gone as (delete from %s as t where %s returning t.*)"
					" insert into %s (%s%s, state, finished_at%s)"
					" select %s%s, 'expired', %s%s from gone returning %s",
					definition->source_name, which.condition, definition->archive_name, first,
					second, definition->has_slots ? ", slot" : "", values, second_values,
					placeholder(Parameter::call_time),
					definition->has_slots ? psprintf(", %s", placeholder(Parameter::slot)) : "",
					told);
}

static const char *
end_text(const Definition *definition, const Which &which)
{
	switch (definition->on_expire) {
		case OnExpire::dead:
			return burial_text(definition, which, true);
		case OnExpire::archive:
			return archiving_text(definition, which);
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
			case ClaimStatement::expire_unclaimed:
				return end_text(definition, unclaimed_jobs(definition));
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
	if (definition->has_slots)
		arguments.set(Parameter::slot,
					  Int16GetDatum(definition::slot_of(definition->archive_keep, now)));
	return arguments;
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
	const bool is_done = unless_hindered(definition, error::log_expired_not_removed, [&] {
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

// Ends a batch of those that expire from that time on.
static int64
expire_from(Definition *definition, TimestampTz from, TimestampTz now, Manner manner)
{
	if (!may_expire(definition) || !definition::has_expires_at(definition->source))
		return 0;
	Arguments arguments = arguments_at(definition, now);
	arguments.set(Parameter::cutoff, TimestampTzGetDatum(from));
	return end_as_owner(definition, ClaimStatement::expire_unclaimed, arguments, now, manner);
}

int64
expire_batch(Definition *definition, TimestampTz now, Manner manner)
{
	return expire_from(definition, DT_NOBEGIN, now, manner);
}

// A look of a claim. Those that were started in time, and have not ended, stand in the index, too, and there may be many.
// So a look begins where the one before it has ended, as long as it has not found a full batch; but for the first one of a
// minute, for what was committed late, given back, or locked. An owner may have dropped the index.
static int64
look(Definition *definition, TimestampTz now)
{
	constexpr int64 period = USECS_PER_MINUTE;
	auto *kept = definition::beside<ClaimsKept>(definition);
	if (!OidIsValid(definition::expiry_index(definition->source)))
		return 0;
	if (now >= kept->expired_again || kept->expired_again - now > period) {
		kept->expired_from = DT_NOBEGIN;
		kept->expired_again = now + period;
	}
	const int64 ended = expire_from(definition, kept->expired_from, now, Manner::plain);
	if (ended < look_batch_size)
		kept->expired_from = now;
	return ended;
}

void
expire_sometimes(Definition *definition, TimestampTz now)
{
	if (may_expire(definition))
		look_sometimes(definition, Look::expired, now, error::log_expired_not_removed,
					   [&] { return look(definition, now); });
}

void
expire_more(Definition *definition, TimestampTz now)
{
	look_again(definition, Look::expired);
	expire_sometimes(definition, now);
}

} // namespace queue_ext::claim
