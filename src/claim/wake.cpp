// wake.cpp - see wake.hpp.

#include "../postgres.hpp"

#include "wake.hpp"

#include "../catalog/own_table.hpp"
#include "../definition/name.hpp"
#include "../definition/registry.hpp"
#include "../definition/shape.hpp"
#include "../error.hpp"
#include "../statement/statement.hpp"
#include "program.hpp"
#include "undo.hpp"

namespace queue_ext::claim {

QUEUE_EXT_FUNCTION(queue_ext_queue_wake);

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

// The value of the row's column, if there is one of that name and type, and it is not
// null.
static bool
get_value(HeapTuple row, TupleDesc descriptor, const char *name, Oid type, Datum *value)
{
	const int number = SPI_fnumber(descriptor, name);
	if (number <= 0 || SPI_gettypeid(descriptor, number) != type)
		return false;
	bool is_null;
	*value = heap_getattr(row, number, descriptor, &is_null);
	return !is_null;
}

// Notes a row of a managed queue. False if it is none.
static bool
note_row(Oid table, HeapTuple row, TupleDesc descriptor)
{
	Datum id;
	Datum priority;
	Datum run_at;
	if (!get_value(row, descriptor, "id", INT8OID, &id) ||
		!get_value(row, descriptor, "priority", INT2OID, &priority) ||
		!get_value(row, descriptor, "run_at", TIMESTAMPTZOID, &run_at))
		return false;
	Datum dead_at;
	if (get_value(row, descriptor, "dead_at", TIMESTAMPTZOID, &dead_at))
		return true;
	Datum leased_until;
	if (get_value(row, descriptor, "leased_until", TIMESTAMPTZOID, &leased_until)) {
		note_due(table, Max(DatumGetTimestampTz(leased_until), DatumGetTimestampTz(run_at)));
		return true;
	}
	note_offer(
		table,
		{row->t_self, DatumGetInt16(priority), DatumGetTimestampTz(run_at), {DatumGetInt64(id)}});
	return true;
}

// The name of the table's trigger, or null.
static const char *
find_trigger(Oid table)
{
	Relation relation = table_open(table, AccessShareLock);
	const char *name = nullptr;
	for (int i = 0; relation->trigdesc != nullptr && i < relation->trigdesc->numtriggers; i++)
		if (is_wake_function(relation->trigdesc->triggers[i].tgfoid))
			name = pstrdup(relation->trigdesc->triggers[i].tgname);
	table_close(relation, AccessShareLock);
	return name;
}

void
create_wake_trigger(Oid table, bool for_each_row)
{
	if (find_trigger(table) != nullptr)
		return;
	const char *schema = catalog::own_schema();
	const char *name = definition::qualified_name(table);
	definition::run_command_on(table,
							   psprintf("create trigger %s after insert or update on %s for each %s"
										" execute function %s.queue_wake()",
										wake_trigger_name, name, for_each_row ? "row" : "statement",
										quote_identifier(schema)));
	// Whatever the session's replication role: a row that came by replication is a job.
	definition::run_command_on(
		table, psprintf("alter table %s enable always trigger %s", name, wake_trigger_name));
	// So that the extension can be dropped, and the trigger goes with it.
	const ObjectAddress trigger{TriggerRelationId, get_trigger_oid(table, wake_trigger_name, false),
								0};
	const ObjectAddress extension{ExtensionRelationId, get_extension_oid("queue_ext", false), 0};
	recordDependencyOn(&trigger, &extension, DEPENDENCY_AUTO_EXTENSION);
	CommandCounterIncrement();
}

void
drop_wake_trigger(Oid table)
{
	const char *name = find_trigger(table);
	if (name != nullptr)
		statement::run_command(psprintf("drop trigger %s on %s", quote_identifier(name),
										definition::qualified_name(table)));
}

void
note_given_back(definition::Definition *definition, TimestampTz due)
{
	if (definition->is_managed && program_of(definition)->has_wake_trigger &&
		SessionReplicationRole != SESSION_REPLICATION_ROLE_REPLICA)
		return;
	note_writes(definition->source);
	if (due == 0)
		note_wake(definition->source);
	else
		note_due(definition->source, due);
}

Datum
queue_ext_queue_wake(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		error::not_a_trigger_call("queue_wake");
	auto *data = reinterpret_cast<TriggerData *>(fcinfo->context);
	const TriggerEvent event = data->tg_event;
	if (!TRIGGER_FIRED_AFTER(event) || TRIGGER_FIRED_BY_TRUNCATE(event))
		error::wake_trigger_misplaced();
	const Oid table = RelationGetRelid(data->tg_relation);
	if (!TRIGGER_FIRED_BY_INSERT(event))
		note_writes(table);
	if (TRIGGER_FIRED_FOR_STATEMENT(event) || TRIGGER_FIRED_BY_DELETE(event)) {
		note_wake(table);
		return static_cast<Datum>(0);
	}
	HeapTuple row = TRIGGER_FIRED_BY_UPDATE(event) ? data->tg_newtuple : data->tg_trigtuple;
	if (!note_row(table, row, RelationGetDescr(data->tg_relation)))
		note_wake(table);
	return static_cast<Datum>(0);
}

} // namespace queue_ext::claim
