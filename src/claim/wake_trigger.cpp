// wake_trigger.cpp - see wake_trigger.hpp.

#include "../postgres.hpp"

#include "wake_trigger.hpp"

#include "../catalog/own_table.hpp"
#include "../definition/name.hpp"
#include "../definition/shape.hpp"

namespace queue_ext::claim {

// By its C symbol: its name and schema may have been changed.
bool
is_wake_function(Oid function)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return false;
	bool is_null;
	const Datum symbol = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &is_null);
	const bool is_it = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple))->prolang == ClanguageId &&
					   !is_null && strcmp(TextDatumGetCString(symbol), "queue_ext_queue_wake") == 0;
	ReleaseSysCache(tuple);
	return is_it;
}

// The name of the table's trigger, or null.
static const char *
find_trigger(Oid table)
{
	Relation relation = table_open(table, AccessShareLock);
	// A copy, as reading a trigger's function may process an invalidation that frees the original.
	const TriggerDesc *triggers = CopyTriggerDesc(relation->trigdesc);
	table_close(relation, AccessShareLock);
	for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++)
		if (is_wake_function(triggers->triggers[i].tgfoid))
			return triggers->triggers[i].tgname;
	return nullptr;
}

// The table may have been renamed by an event trigger: run_command_on() checks the name after each
// command.
void
create_wake_trigger(Oid table, bool for_each_row)
{
	if (find_trigger(table) != nullptr)
		return;
	const char *schema = catalog::own_schema();
	const char *name = definition::qualified_name(table);
	const statement::Named named{table, name};
	definition::run_command_on(named,
							   psprintf("create trigger %s after insert or update on %s for each %s"
										" execute function %s.queue_wake()",
										wake_trigger_name, name, for_each_row ? "row" : "statement",
										quote_identifier(schema)));
	// In any session_replication_role: a row that was replicated is a job, too.
	definition::run_command_on(
		named, psprintf("alter table %s enable always trigger %s", name, wake_trigger_name));
	// DROP EXTENSION drops the trigger, and leaves the table.
	const ObjectAddress trigger{TriggerRelationId, get_trigger_oid(table, wake_trigger_name, false),
								0};
	const ObjectAddress extension{ExtensionRelationId, get_extension_oid("queue_ext", false), 0};
	recordDependencyOn(&trigger, &extension, DEPENDENCY_AUTO_EXTENSION);
	CommandCounterIncrement();
}

void
drop_wake_trigger(Oid table)
{
	const char *trigger = find_trigger(table);
	if (trigger == nullptr)
		return;
	const char *name = definition::qualified_name(table);
	definition::run_command_on({table, name},
							   psprintf("drop trigger %s on %s", quote_identifier(trigger), name));
}

} // namespace queue_ext::claim
