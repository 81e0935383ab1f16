// dead_jobs.cpp - see dead_jobs.hpp.

#include "../postgres.hpp"

#include "dead_jobs.hpp"

#include "../definition/dead_queue.hpp"
#include "../definition/keep.hpp"
#include "../definition/shape.hpp"
#include "../error.hpp"
#include "../stats/transaction_counters.hpp"
#include "claims_kept.hpp"
#include "given_back.hpp"
#include "looks.hpp"

namespace queue_ext::claim {

using definition::Definition;
using definition::DeadQueue;
using statement::Arguments;
using statement::Parameter;

// The moment, as the errors of a job have theirs.
static const char *
moment_of(const char *column)
{
	return psprintf("pg_catalog.to_char(pg_catalog.timezone('UTC', %s),"
					" 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')",
					column);
}

// What tells the job, of the row "m". It is that of the first queue where a job dies again.
static const char *
origin_text(const Definition *definition)
{
	const char *queue = quote_qualified_identifier(
		get_namespace_name(get_rel_namespace(definition->source)), definition->name);
	const char *origin =
		psprintf("pg_catalog.jsonb_build_object('queue', %s, 'id', m.id, 'attempts', m.attempt,"
				 " 'created_at', %s, 'died_at', %s)",
				 quote_literal_cstr(queue), moment_of("m.created_at"), moment_of("m.dead_at"));
	return definition::has_origin(definition->source) ? psprintf("coalesce(m.origin, %s)", origin)
													  : origin;
}

// Archives what was moved, as a part of the same statement.
static const char *
archiving_text(const Definition *definition)
{
	if (!definition->is_archived || definition->archive_name == nullptr)
		return "";
	const char *columns =
		psprintf("%s%s", definition::archived_columns,
				 definition::shared_second_columns(definition->source, definition->archive));
	const char *slot = definition->has_slots ? ", slot" : "";
	const char *slot_value =
		definition->has_slots ? psprintf(", %s", placeholder(Parameter::slot)) : "";
	return psprintf(", kept as (insert into %s (%s, state, finished_at%s)"
					" select %s, 'dead', %s%s from moved)",
					definition->archive_name, columns, slot, columns,
					placeholder(Parameter::call_time), slot_value);
}

// The columns of the dead queue that get what the job has in those of the same name, each behind a comma.
static const char *
copied_columns(const Definition *definition)
{
	static constexpr const char *copied[] = {"kind", "errors", "progress"};
	StringInfoData list;
	initStringInfo(&list);
	for (const char *column : copied)
		if (get_attnum(definition->source, column) != InvalidAttrNumber)
			appendStringInfo(&list, ", %s", column);
	return list.data;
}

// Moves the jobs whose ids those are, which may be dead or not. Returns how many were taken and put, and when the first
// has died of those whose lease has ended. Not "dead_at <=", which the index of dead jobs could serve, and read all of
// them.
static const char *
move_text(const Definition *definition, const char *ids)
{
	const char *now = placeholder(Parameter::call_time);
	const char *copied = copied_columns(definition);
	return psprintf(
		"with moved as (delete from %s as t where t.id operator(pg_catalog.=) any (%s)"
		" and coalesce(t.dead_at, 'infinity') operator(pg_catalog.<=) %s returning t.*)%s,"
		" put as (insert into %s (run_at, priority, last_error, payload, origin%s)"
		" select %s, priority, last_error, payload, %s%s from moved as m"
		" order by m.dead_at, m.id returning 1)"
		" select (select pg_catalog.count(*) from moved), (select pg_catalog.count(*) from put),"
		" (select pg_catalog.min(m.dead_at) from moved as m where m.leased_until is not null)",
		definition->source_name, ids, now, archiving_text(definition), definition->dead_queue_name,
		copied, now, origin_text(definition), copied);
}

// Who requeues or cancels one has it locked, and another claim may be moving some.
static const char *
dead_ids(const Definition *definition)
{
	return psprintf("array(select d.id from %s as d where d.dead_at operator(pg_catalog.<=) %s"
					" order by d.dead_at limit %d for update skip locked)",
					definition->source_name, placeholder(Parameter::call_time), look_batch_size);
}

static const statement::Statement &
statement_for(Definition *definition, ClaimStatement which)
{
	return prepared_of(definition, kept_for_claims(definition, which), [&] {
		return move_text(definition, which == ClaimStatement::move_failed
										 ? placeholder(Parameter::ids)
										 : dead_ids(definition));
	});
}

// A trigger of the dead queue may have suppressed jobs, which would be lost.
static int64
count_moved(Definition *definition)
{
	bool is_null;
	const auto value = [&](int column) {
		return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &is_null);
	};
	const int64 taken = DatumGetInt64(value(1));
	if (DatumGetInt64(value(2)) != taken)
		error::dead_jobs_suppressed(definition->dead_queue_name);
	if (taken == 0)
		return 0;
	stats::count(definition, stats::Counter::moved, taken);
	const Datum death = value(3);
	stats::TransactionCounters *counters = is_null ? nullptr : stats::counters_of(definition);
	if (counters != nullptr)
		note_death_of(definition->source, counters, DatumGetTimestampTz(death));
	return taken;
}

// Runs the statement as the owner. Where there is no dead queue that can take jobs, they stay.
static int64
move(Definition *definition, ClaimStatement which, const Arguments &arguments, Manner manner)
{
	const bool is_archive_gone = definition->is_archived && definition->archive_name == nullptr;
	if (is_archive_gone || dead_queue_of(definition) != DeadQueue::there)
		return 0;
	const Access accesses[] = {
		{definition->source, ACL_SELECT | ACL_UPDATE | ACL_DELETE, TRIGGER_TYPE_DELETE},
		{definition->dead_queue, ACL_SELECT | ACL_INSERT, TRIGGER_TYPE_INSERT},
		{definition->archive, ACL_SELECT | ACL_INSERT, TRIGGER_TYPE_INSERT}};
	int64 moved = 0;
	as_owner(accesses, definition->is_archived ? 3 : 2, manner, [&](Runner) {
		statement::with_spi([&] {
			run(statement_for(definition, which), arguments);
			moved = count_moved(definition);
		});
	});
	return moved;
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

int64
move_dead_batch(Definition *definition, TimestampTz now, Manner manner)
{
	if (!has_dead_queue(definition))
		return 0;
	return move(definition, ClaimStatement::move_dead, arguments_at(definition, now), manner);
}

void
move_failed(Definition *definition, const int64 *ids, int count, TimestampTz now)
{
	if (!has_dead_queue(definition) || count == 0)
		return;
	auto *values = static_cast<Datum *>(palloc(sizeof(Datum) * count));
	for (int i = 0; i < count; i++)
		values[i] = Int64GetDatum(ids[i]);
	Arguments arguments = arguments_at(definition, now);
	arguments.set(Parameter::ids,
				  PointerGetDatum(construct_array(values, count, INT8OID, sizeof(int64),
												  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE)));
	(void) unless_hindered(definition, error::log_dead_not_moved, [&] {
		(void) move(definition, ClaimStatement::move_failed, arguments, Manner::plain);
	});
}

void
move_dead_sometimes(Definition *definition, TimestampTz now)
{
	if (has_dead_queue(definition))
		look_sometimes(definition, Look::dead, now, error::log_dead_not_moved,
					   [&] { return move_dead_batch(definition, now, Manner::plain); });
}

} // namespace queue_ext::claim
