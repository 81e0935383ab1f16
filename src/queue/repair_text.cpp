// repair_text.cpp - see repair_text.hpp.

#include "../postgres.hpp"

#include "repair_text.hpp"

#include "../definition/fragment.hpp"
#include "../definition/managed.hpp"
#include "finish_text.hpp"

namespace queue_ext::queue {

using definition::Definition;
using statement::Parameter;

const char *
compile_condition(const Definition *definition, const char *condition, const char *search_path)
{
	const definition::Fragment fragment{condition,
										definition::FragmentKind::condition,
										"condition",
										definition->name,
										definition->is_managed,
										definition::Scope::repair};
	Relation table = table_open(definition->source, NoLock);
	const definition::CompiledFragment compiled = compile(fragment, table, search_path);
	table_close(table, NoLock);
	const char *state = definition::job_state(placeholder(Parameter::call_time));
	return definition::bind_state(compiled.text, psprintf("(%s)", state));
}

const char *
highest_text(const Definition *definition)
{
	return psprintf("select t.id from %s as t order by t.id desc limit 1", definition->source_name);
}

// The condition is no part of the WHERE clause, so that the time until the statement ends depends on
// the number of rows alone, and no index can lead it elsewhere than through the IDs.
const char *
window_text(const Definition *definition, const char *condition, int64 highest, int rows)
{
	return psprintf("select t.id, (%s) is true from %s as t where t.id operator(pg_catalog.>) %s"
					" and t.id operator(pg_catalog.<=) '" INT64_FORMAT "'::pg_catalog.int8"
					" order by t.id limit %d",
					condition, definition->source_name, placeholder(Parameter::id), highest, rows);
}

namespace {

// What queue_change_where() writes, and in which jobs that would be a change.
struct Change
{
	const char *assignments;
	const char *differs;
};

} // namespace

// A job that has the values already is left alone, so that a call that is repeated counts each job
// once.
static Change
change_of(bool sets_priority, bool sets_run_at)
{
	const char *priority = placeholder(Parameter::priority);
	const char *run_at = placeholder(Parameter::run_at);
	if (!sets_run_at)
		return {psprintf("priority = %s", priority),
				psprintf("t.priority operator(pg_catalog.<>) %s", priority)};
	if (!sets_priority)
		return {psprintf("run_at = %s", run_at),
				psprintf("t.run_at operator(pg_catalog.<>) %s", run_at)};
	return {
		psprintf("priority = %s, run_at = %s", priority, run_at),
		psprintf("(t.priority operator(pg_catalog.<>) %s or t.run_at operator(pg_catalog.<>) %s)",
				 priority, run_at)};
}

static const char *
update_text(const Definition *definition, const char *tables, const char *assignments,
			const char *fence)
{
	return psprintf("update %s as t set %s from %s where %s returning t.id",
					definition->source_name, assignments, tables, fence);
}

// The condition stands in the statement that writes, so that a row that changes meanwhile is checked
// again in its newest version. "is true", so that no index serves it, and the rows are found by their
// IDs. These are compared as in fence_text() (finish_text.cpp), for the same reason.
const char *
repair_text(const Definition *definition, Repair repair, const char *condition, bool sets_priority,
			bool sets_run_at)
{
	const char *tables =
		psprintf("pg_catalog.unnest(%s) as r(repaired_id)", placeholder(Parameter::ids));
	const char *fence = psprintf("t.id operator(pg_catalog.>=) r.repaired_id"
								 " and t.id operator(pg_catalog.<=) r.repaired_id"
								 " and (%s) is true",
								 condition);
	switch (repair) {
		case Repair::requeue:
			return update_text(definition, tables, on_requeue(definition),
							   psprintf("%s and coalesce(t.dead_at, 'infinity')"
										" operator(pg_catalog.<=) %s",
										fence, placeholder(Parameter::call_time)));
		case Repair::cancel:
			return removal_text(definition, {tables, fence, "cancelled", nullptr, false, ""});
		case Repair::erase:
			return psprintf("delete from %s as t using %s where %s returning t.id",
							definition->source_name, tables, fence);
		case Repair::change: {
			const Change change = change_of(sets_priority, sets_run_at);
			return update_text(definition, tables, change.assignments,
							   psprintf("%s and %s", fence, change.differs));
		}
	}
	pg_unreachable();
}

} // namespace queue_ext::queue
