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

namespace {

// The trigger of a table.
struct Found
{
	const char *name; // null: it has none
	Oid trigger;
	bool is_for_each_row;
	bool is_always;
};

} // namespace

static Found
find_trigger(Oid table)
{
	Relation relation = table_open(table, AccessShareLock);
	// A copy, as reading a trigger's function may process an invalidation that frees the original.
	const TriggerDesc *triggers = CopyTriggerDesc(relation->trigdesc);
	table_close(relation, AccessShareLock);
	for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
		const Trigger &trigger = triggers->triggers[i];
		if (is_wake_function(trigger.tgfoid))
			return {trigger.tgname, trigger.tgoid, TRIGGER_FOR_ROW(trigger.tgtype) != 0,
					trigger.tgenabled == TRIGGER_FIRES_ALWAYS};
	}
	return {};
}

// In any session_replication_role: a row that was replicated is a job, too.
static void
enable_always(const statement::Named &table, const char *trigger)
{
	definition::run_command_on(table, psprintf("alter table %s enable always trigger %s",
											   table.name, quote_identifier(trigger)));
}

// DROP EXTENSION drops the trigger, and leaves the table.
static void
leave_to_extension(Oid trigger)
{
	(void) deleteDependencyRecordsForClass(TriggerRelationId, trigger, ExtensionRelationId,
										   DEPENDENCY_AUTO_EXTENSION);
	const ObjectAddress dropped{TriggerRelationId, trigger, 0};
	const ObjectAddress extension{ExtensionRelationId, get_extension_oid("queue_ext", false), 0};
	recordDependencyOn(&dropped, &extension, DEPENDENCY_AUTO_EXTENSION);
	CommandCounterIncrement();
}

// The table may have been renamed by an event trigger: run_command_on() checks the name after each
// command.
void
create_wake_trigger(Oid table, bool for_each_row)
{
	if (find_trigger(table).name != nullptr)
		return;
	const char *schema = catalog::own_schema();
	const statement::Named named{table, definition::qualified_name(table)};
	definition::run_command_on(
		named, psprintf("create trigger %s after insert or update on %s for each %s"
						" execute function %s.queue_wake()",
						wake_trigger_name, named.name, for_each_row ? "row" : "statement",
						quote_identifier(schema)));
	enable_always(named, wake_trigger_name);
	leave_to_extension(get_trigger_oid(table, wake_trigger_name, false));
}

void
mend_wake_trigger(Oid table, bool for_each_row)
{
	const Found found = find_trigger(table);
	if (found.name == nullptr || (for_each_row && !found.is_for_each_row)) {
		drop_wake_trigger(table);
		create_wake_trigger(table, for_each_row);
		return;
	}
	if (!found.is_always)
		enable_always({table, definition::qualified_name(table)}, found.name);
	leave_to_extension(found.trigger);
}

void
drop_wake_trigger(Oid table)
{
	const char *trigger = find_trigger(table).name;
	if (trigger == nullptr)
		return;
	const char *name = definition::qualified_name(table);
	definition::run_command_on({table, name},
							   psprintf("drop trigger %s on %s", quote_identifier(trigger), name));
}

} // namespace queue_ext::claim
