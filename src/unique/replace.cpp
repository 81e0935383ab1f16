// replace.cpp - see replace.hpp.

#include "../postgres.hpp"

#include "replace.hpp"

#include "../catalog/indexes.hpp"
#include "../catalog/owner.hpp"
#include "../claim/as_owner.hpp"
#include "../claim/expiry_rule.hpp"
#include "../claim/given_back.hpp"
#include "../compat.hpp"
#include "../definition/registry.hpp"
#include "../definition/shape.hpp"
#include "../error.hpp"
#include "../missing_rights.hpp"
#include "../row/plain.hpp"
#include "find.hpp"

namespace queue_ext::unique {

using definition::Definition;
using statement::Arguments;
using statement::Parameter;
using statement::placeholder;

// The columns that a change may write, with the expiry or without.
static Bitmapset *
written_columns(const Definition *definition, bool has_expiry)
{
	const Oid source = definition->source;
	static constexpr const char *always[] = {"payload", "priority",     "run_at",
											 "attempt", "leased_until", "leased_by"};
	const struct
	{
		const char *name;
		bool is_there;
	} others[] = {
		{"kind", definition::has_kind(source)},
		{"released", definition::counts_releases(source)},
		{"progress", definition::has_progress(source)},
		{"expires_at", has_expiry},
	};
	Bitmapset *columns = missing_rights::column_set(source, always, lengthof(always));
	for (const auto &[name, is_there] : others)
		if (is_there)
			columns = bms_add_members(columns, missing_rights::column_set(source, &name, 1));
	return columns;
}

// Whether the change could violate a check.
static bool
has_checks(Relation table, const Bitmapset *columns)
{
	const TupleConstr *constraints = RelationGetDescr(table)->constr;
	for (int i = 0; constraints != nullptr && i < constraints->num_check; i++) {
		auto *check = static_cast<Node *>(stringToNode(constraints->check[i].ccbin));
		Bitmapset *read = nullptr;
		pull_varattnos(check, 1, &read);
		if (bms_overlap(read, columns) ||
			bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, read))
			return true;
	}
	return false;
}

// Whether an index shows a key of another row where it is violated.
static bool
has_unique_index(Relation table, const Bitmapset *columns)
{
	bool is_unique = false;
	catalog::each_index(table, [&](Relation index) {
		const Form_pg_index form = index->rd_index;
		bool is_of_written = false;
		for (int i = 0; i < form->indnatts; i++)
			is_of_written |=
				bms_is_member(form->indkey.values[i] - FirstLowInvalidHeapAttributeNumber, columns);
		is_unique |= form->indisexclusion || (form->indisunique && is_of_written);
	});
	return is_unique;
}

// Whether the columns are there, and may be null where the change may make them so.
static bool
are_plain(Relation table, const Bitmapset *columns)
{
	int member = -1;
	while ((member = bms_next_member(columns, member)) >= 0) {
		const int number = member + FirstLowInvalidHeapAttributeNumber;
		if (number <= 0)
			return false;
		const Form_pg_attribute column = TupleDescAttr(RelationGetDescr(table), number - 1);
		const char *name = NameStr(column->attname);
		const bool is_given = strcmp(name, "payload") == 0 || strcmp(name, "priority") == 0 ||
							  strcmp(name, "run_at") == 0 || strcmp(name, "attempt") == 0;
		if (!is_given && compat::is_not_null(RelationGetDescr(table), number - 1))
			return false;
	}
	return true;
}

static bool
is_safe_as_owner(const Definition *definition)
{
	const Oid source = definition->source;
	Relation table = table_open(source, NoLock);
	const Bitmapset *columns = written_columns(definition, definition::has_expires_at(source));
	const bool is_safe =
		row::is_plain(table) &&
		claim::has_no_users_code(source, TRIGGER_TYPE_UPDATE, catalog::owner_of(source)) &&
		are_plain(table, columns) && !has_checks(table, columns) &&
		!has_unique_index(table, columns);
	table_close(table, NoLock);
	return is_safe;
}

// The GRANT that the caller needs to run the statement; null if the caller may.
static const char *
grants_to_update(const Definition *definition)
{
	const Oid source = definition->source;
	static constexpr const char *read[] = {"id",           "run_at",  "created_at",
										   "leased_until", "dead_at", "attempt"};
	missing_rights::Need *need = missing_rights::need_of(source, ACL_SELECT | ACL_UPDATE);
	const bool has_expiry = claim::writes_expiry(definition, true);
	need->updated = written_columns(definition, has_expiry);
	need->selected = missing_rights::column_set(source, read, lengthof(read));
	if (definition::counts_releases(source)) {
		static constexpr const char *released[] = {"released"};
		need->selected =
			bms_add_members(need->selected, missing_rights::column_set(source, released, 1));
	}
	if (has_expiry) {
		static constexpr const char *expiry[] = {"expires_at"};
		need->selected =
			bms_add_members(need->selected, missing_rights::column_set(source, expiry, 1));
	}
	return missing_rights::grants_for(list_make1(need));
}

void
check_may_change(const Definition *definition, const Arguments &arguments)
{
	static constexpr const char *inserted[] = {"payload", "priority", "run_at", "kind"};
	const Oid source = definition->source;
	missing_rights::Need *need = missing_rights::need_of(source, ACL_INSERT);
	need->inserted =
		missing_rights::column_set(source, inserted, definition::has_kind(source) ? 4 : 3);
	if (arguments.has(Parameter::expires_at)) {
		static constexpr const char *expiry[] = {"expires_at"};
		need->inserted =
			bms_add_members(need->inserted, missing_rights::column_set(source, expiry, 1));
	}
	const char *grants = missing_rights::grants_for(list_make1(need));
	if (grants != nullptr)
		error::no_right(get_rel_name(source), grants);
	if (check_enable_rls(source, InvalidOid, true) == RLS_ENABLED ||
		check_enable_rls(source, catalog::owner_of(source), true) == RLS_ENABLED)
		error::changed_under_row_security(get_rel_name(source));
	if (definition::has_other_queue(source, definition->name))
		error::changed_beside_queue(definition->name, get_rel_name(source));
	grants = is_safe_as_owner(definition) ? nullptr : grants_to_update(definition);
	if (grants != nullptr)
		error::no_right(get_rel_name(source), grants);
}

// When the job that waits is to run, at the latest after max_delay, and no earlier than before.
static const char *
later_text()
{
	return psprintf("greatest(t.run_at, least(%s, t.created_at operator(pg_catalog.+) %s))",
					placeholder(Parameter::run_at), placeholder(Parameter::max_delay));
}

// How many of the claims are no failures, after the change. With another payload that has an expiry of its own, all: no
// worker has started that (claim/expiry_rule.hpp).
static const char *
released_text(const char *attempt, bool is_new)
{
	const char *released =
		"case when t.leased_until is null then t.released"
		" else least(coalesce(t.released, 0), 2147483646) operator(pg_catalog.+) 1 end";
	return is_new ? psprintf("case when %s is null then %s else %s end",
							 placeholder(Parameter::expires_at), released, attempt)
				  : released;
}

// The expiry of a job whose run_at moves to w.run_at: it moves as far as the time from which the job can be claimed. Days
// have 24 hours, whatever the time zone.
static const char *
later_expiry_text()
{
	const auto beginning = [](const char *run_at) {
		return psprintf("greatest(%s, t.created_at)", run_at);
	};
	const char *before = beginning("t.run_at");
	const char *after = beginning("w.run_at");
	const auto in_utc = [](const char *time) {
		return psprintf("pg_catalog.timezone('UTC'::pg_catalog.text, %s)", time);
	};
	const char *moved = in_utc(psprintf("%s operator(pg_catalog.+) (%s operator(pg_catalog.-) %s)",
										in_utc("t.expires_at"), in_utc(after), in_utc(before)));
	return psprintf("case when t.expires_at is null or %s operator(pg_catalog.<=) %s"
					" or not pg_catalog.isfinite(%s) then t.expires_at"
					" when pg_catalog.isfinite(%s) then %s"
					" else 'infinity'::pg_catalog.timestamptz end",
					after, before, before, after, moved);
}

// What to write, of the row of "t", whose new run_at is w.run_at. It takes over a job whose lease has ended.
static const char *
assignments_of(const Definition *definition, OnConflict rule, bool has_expiry)
{
	StringInfoData text;
	initStringInfo(&text);
	const char *attempt = "case when t.leased_until is null then t.attempt"
						  " else t.attempt operator(pg_catalog.+) 1 end";
	const bool is_postponed = rule == OnConflict::postpone;
	appendStringInfo(
		&text, "run_at = w.run_at, leased_until = null, leased_by = null, attempt = %s", attempt);
	if (definition::counts_releases(definition->source))
		appendStringInfo(&text, ", released = %s",
						 released_text(attempt, has_expiry && !is_postponed));
	if (has_expiry && is_postponed)
		appendStringInfo(&text, ", expires_at = coalesce(%s, %s)",
						 placeholder(Parameter::expires_at), later_expiry_text());
	else if (has_expiry)
		appendStringInfo(&text, ", expires_at = %s", placeholder(Parameter::expires_at));
	if (is_postponed)
		return text.data;
	appendStringInfo(&text, ", payload = %s, priority = %s", placeholder(Parameter::payload),
					 placeholder(Parameter::priority));
	if (definition::has_kind(definition->source))
		appendStringInfo(&text, ", kind = %s", placeholder(Parameter::kind));
	// How far a worker had got was with the other payload.
	if (definition::has_progress(definition->source))
		appendStringInfoString(&text, ", progress = null");
	return text.data;
}

// Returns a row if the job waits and is not locked, and in that whether it has changed. Why not "id =" is
// said at fence_text() in queue/finish_text.cpp.
static const char *
change_text(const Definition *definition, OnConflict rule, bool has_expiry)
{
	const char *id = placeholder(Parameter::id);
	return psprintf(
		"with w as materialized (select t.id, %s as run_at from %s as t"
		" where t.id operator(pg_catalog.>=) %s and t.id operator(pg_catalog.<=) %s"
		" and (t.leased_until is null or t.leased_until operator(pg_catalog.<=) %s)"
		" and t.dead_at is null for no key update skip locked),"
		" u as (update %s as t set %s from w where t.id operator(pg_catalog.>=) %s"
		" and t.id operator(pg_catalog.<=) %s%s returning t.id)"
		" select exists (select from u) from w",
		rule == OnConflict::postpone
			? later_text()
			: psprintf("coalesce(%s, pg_catalog.now())", placeholder(Parameter::run_at)),
		definition->source_name, id, id, placeholder(Parameter::call_time), definition->source_name,
		assignments_of(definition, rule, has_expiry), id, id,
		rule == OnConflict::postpone
			? " and (t.run_at operator(pg_catalog.<) w.run_at or t.leased_until is not null)"
			: "");
}

static UniqueStatement
statement_of(OnConflict rule, bool has_expiry)
{
	if (rule == OnConflict::postpone)
		return has_expiry ? UniqueStatement::postpone_expiry : UniqueStatement::postpone;
	return has_expiry ? UniqueStatement::replace_expiry : UniqueStatement::replace;
}

// Returns what became of the job by the row that the statement has returned, if any.
static ChangeOutcome
run_change(Definition *definition, OnConflict rule, const Arguments &arguments)
{
	const bool has_expiry = claim::writes_expiry(definition, true);
	const statement::Statement &statement = definition::prepared_of(
		definition, kept_for_unique(definition, statement_of(rule, has_expiry)),
		[&] { return change_text(definition, rule, has_expiry); });
	if (statement::run(statement, arguments) == 0)
		return ChangeOutcome::none;
	bool is_null;
	const Datum is_done = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
	return DatumGetBool(is_done) ? ChangeOutcome::done : ChangeOutcome::kept;
}

// Of the code that it runs all is PostgreSQL's own, or ours.
static ChangeOutcome
run_as_owner(Definition *definition, OnConflict rule, const Arguments &arguments)
{
	ChangeOutcome change = ChangeOutcome::none;
	claim::as_owner_for_other(definition->source, [&] {
		statement::with_spi([&] { change = run_change(definition, rule, arguments); });
	});
	return change;
}

// Asks at each job who is to run the statement: code of users may have run since the last one. While the row was
// locked, claims may have passed it by.
ChangeOutcome
change_job(Definition *definition, const Conflict &conflict, int64 id, Arguments arguments)
{
	arguments.set(Parameter::call_time, TimestampTzGetDatum(GetCurrentTimestamp()));
	arguments.set(Parameter::id, Int64GetDatum(id));
	if (conflict.max_delay != nullptr)
		arguments.set(Parameter::max_delay, IntervalPGetDatum(conflict.max_delay));
	const char *grants = grants_to_update(definition);
	if (grants != nullptr && !is_safe_as_owner(definition))
		error::no_right(get_rel_name(definition->source), grants);
	const ChangeOutcome change = grants == nullptr
									 ? run_change(definition, conflict.rule, arguments)
									 : run_as_owner(definition, conflict.rule, arguments);
	if (change != ChangeOutcome::none)
		claim::note_given_back(definition, 0);
	return change;
}

} // namespace queue_ext::unique
