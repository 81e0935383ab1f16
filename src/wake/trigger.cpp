// trigger.cpp - see trigger.hpp.

#include "../postgres.hpp"

#include "trigger.hpp"

#include "../catalog/own_table.hpp"
#include "../definition/name.hpp"
#include "../definition/table_command.hpp"

namespace queue_ext::wake {

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

// Of a copy, as reading a trigger's function may process an invalidation that frees the original.
const Trigger *
find_wake_trigger(Relation table)
{
	const TriggerDesc *triggers = CopyTriggerDesc(table->trigdesc);
	for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++)
		if (is_wake_function(triggers->triggers[i].tgfoid))
			return &triggers->triggers[i];
	return nullptr;
}

static const Trigger *
find_wake_trigger(Oid table)
{
	Relation relation = table_open(table, AccessShareLock);
	const Trigger *trigger = find_wake_trigger(relation);
	table_close(relation, AccessShareLock);
	return trigger;
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

namespace {

// How the trigger is made: for each row or statement, and with which arguments.
struct Form
{
	bool is_for_row;
	const char *arguments;
};

} // namespace

// Of rows of partitions and children a statement on the parent tells.
static Form
form_for(Oid table, bool is_managed)
{
	if (is_managed)
		return {true, ""};
	if (get_rel_relkind(table) == RELKIND_RELATION && !has_subclass(table))
		return {true, "'attached'"};
	return {false, ""};
}

static bool
is_of_form(const Trigger *trigger, const Form &form)
{
	return (TRIGGER_FOR_ROW(trigger->tgtype) != 0) == form.is_for_row &&
		   (trigger->tgnargs > 0) == (form.arguments[0] != '\0');
}

// The table may have been renamed by an event trigger: run_command_on() checks the name after each
// command.
void
create_wake_trigger(Oid table, bool is_managed)
{
	const Trigger *found = find_wake_trigger(table);
	// That of an attached queue does not do for a managed one.
	if (found != nullptr && (!is_managed || found->tgnargs == 0))
		return;
	if (found != nullptr)
		drop_wake_trigger(table);
	const char *schema = catalog::own_schema();
	const Form form = form_for(table, is_managed);
	const statement::Named named{table, definition::qualified_name(table)};
	definition::run_command_on(
		named, psprintf("create trigger %s after insert or update on %s for each %s"
						" execute function %s.queue_wake(%s)",
						wake_trigger_name, named.name, form.is_for_row ? "row" : "statement",
						quote_identifier(schema), form.arguments));
	enable_always(named, wake_trigger_name);
	leave_to_extension(get_trigger_oid(table, wake_trigger_name, false));
}

void
mend_wake_trigger(Oid table, bool is_managed)
{
	const Trigger *found = find_wake_trigger(table);
	if (found == nullptr || !is_of_form(found, form_for(table, is_managed))) {
		drop_wake_trigger(table);
		create_wake_trigger(table, is_managed);
		return;
	}
	if (found->tgenabled != TRIGGER_FIRES_ALWAYS)
		enable_always({table, definition::qualified_name(table)}, found->tgname);
	leave_to_extension(found->tgoid);
}

void
drop_wake_trigger(Oid table)
{
	const Trigger *trigger = find_wake_trigger(table);
	if (trigger == nullptr)
		return;
	const char *name = definition::qualified_name(table);
	definition::run_command_on(
		{table, name}, psprintf("drop trigger %s on %s", quote_identifier(trigger->tgname), name));
}

} // namespace queue_ext::wake
