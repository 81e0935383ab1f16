// replace.cpp - see replace.hpp.

#include "../postgres.hpp"

#include "replace.hpp"

#include "../catalog/owner.hpp"
#include "../claim/given_back.hpp"
#include "../definition/shape.hpp"
#include "../error.hpp"
#include "../missing_rights.hpp"
#include "../statement/search_path.hpp"
#include "find.hpp"

namespace queue_ext::unique {

using definition::Definition;
using statement::Arguments;
using statement::Parameter;
using statement::placeholder;

void
check_may_change(const Definition *definition)
{
	static constexpr const char *inserted[] = {"payload", "priority", "run_at", "kind"};
	const Oid source = definition->source;
	missing_rights::Need *need = missing_rights::need_of(source, ACL_INSERT);
	need->inserted =
		missing_rights::column_set(source, inserted, definition::has_kind(source) ? 4 : 3);
	const char *grants = missing_rights::grants_for(list_make1(need));
	if (grants != nullptr)
		error::no_right(get_rel_name(source), grants);
	if (check_enable_rls(source, InvalidOid, true) == RLS_ENABLED ||
		check_enable_rls(source, catalog::owner_of(source), true) == RLS_ENABLED)
		error::changed_under_row_security(get_rel_name(source));
}

// When the job that waits is to run, at the latest after max_delay, and no earlier than before.
static const char *
later_text()
{
	return psprintf("greatest(t.run_at, least(%s, t.created_at operator(pg_catalog.+) %s))",
					placeholder(Parameter::run_at), placeholder(Parameter::max_delay));
}

// What to write, of the row of "t", whose new run_at is w.run_at.
static const char *
assignments_of(const Definition *definition, OnConflict rule)
{
	if (rule == OnConflict::postpone)
		return "run_at = w.run_at";
	return psprintf("payload = %s, priority = %s, run_at = w.run_at%s%s",
					placeholder(Parameter::payload), placeholder(Parameter::priority),
					definition::has_kind(definition->source) ? ", kind = " : "",
					definition::has_kind(definition->source) ? placeholder(Parameter::kind) : "");
}

// Returns a row if the job waits and is not locked, and in that whether it has changed. Why not "id =" is
// said at fence_text() in queue/finish.cpp.
static const char *
change_text(const Definition *definition, OnConflict rule)
{
	const char *id = placeholder(Parameter::id);
	return psprintf(
		"with w as materialized (select t.id, %s as run_at from %s as t"
		" where t.id operator(pg_catalog.>=) %s and t.id operator(pg_catalog.<=) %s"
		" and t.leased_until is null and t.dead_at is null for no key update skip locked),"
		" u as (update %s as t set %s from w where t.id operator(pg_catalog.>=) %s"
		" and t.id operator(pg_catalog.<=) %s%s returning t.id)"
		" select exists (select from u) from w",
		rule == OnConflict::postpone
			? later_text()
			: psprintf("coalesce(%s, pg_catalog.now())", placeholder(Parameter::run_at)),
		definition->source_name, id, id, definition->source_name, assignments_of(definition, rule),
		id, id,
		rule == OnConflict::postpone ? " and t.run_at operator(pg_catalog.<) w.run_at" : "");
}

// Returns what became of the job by the row that the statement has returned, if any.
static Change
run_change(Definition *definition, OnConflict rule, const Arguments &arguments)
{
	const UniqueStatement which =
		rule == OnConflict::postpone ? UniqueStatement::postpone : UniqueStatement::replace;
	const statement::Statement &statement =
		definition::prepared_of(definition, kept_for_unique(definition, which),
								[&] { return change_text(definition, rule); });
	if (statement::run(statement, arguments) == 0)
		return Change::none;
	bool is_null;
	const Datum is_done = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
	return DatumGetBool(is_done) ? Change::done : Change::kept;
}

// The owner's triggers do not search the path of the caller.
static Change
run_as_owner(Definition *definition, OnConflict rule, const Arguments &arguments)
{
	Change change = Change::none;
	catalog::as_owner_of(definition->source, [&] {
		statement::with_search_path(statement::bare_search_path, [&] {
			statement::with_spi([&] { change = run_change(definition, rule, arguments); });
		});
	});
	return change;
}

// While the row was locked, claims may have passed it by.
Change
change_job(Definition *definition, const Conflict &conflict, int64 id, Arguments arguments)
{
	arguments.set(Parameter::id, Int64GetDatum(id));
	if (conflict.max_delay != nullptr)
		arguments.set(Parameter::max_delay, IntervalPGetDatum(conflict.max_delay));
	const Change change = check_enable_rls(definition->source, InvalidOid, true) == RLS_ENABLED
							  ? run_change(definition, conflict.rule, arguments)
							  : run_as_owner(definition, conflict.rule, arguments);
	if (change != Change::none)
		claim::note_given_back(definition, 0);
	return change;
}

} // namespace queue_ext::unique
