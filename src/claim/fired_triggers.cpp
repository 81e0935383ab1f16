// fired_triggers.cpp - see fired_triggers.hpp.

#include "../postgres.hpp"

#include "fired_triggers.hpp"

#include "../catalog/dependency.hpp"
#include "../wake/trigger.hpp"

namespace queue_ext::claim {

using definition::Definition;

// Whether the trigger does nothing where only these columns (as pull_varattnos() counts them) are
// written: it is a foreign key's, of other columns, or UPDATE OF others.
static bool
ignores_update(Relation table, const Trigger *trigger, const Bitmapset *written)
{
	bool is_touched = false;
	switch (RI_FKey_trigger_type(trigger->tgfoid)) {
		case RI_TRIGGER_PK:
			return !bms_overlap(written, RelationGetIndexAttrBitmap(table, INDEX_ATTR_BITMAP_KEY));
		case RI_TRIGGER_FK: {
			ListCell *cell;
			foreach (cell, RelationGetFKeyList(table)) {
				const auto *key = static_cast<ForeignKeyCacheInfo *>(lfirst(cell));
				for (int i = 0; i < key->nkeys; i++)
					is_touched |=
						bms_is_member(key->conkey[i] - FirstLowInvalidHeapAttributeNumber, written);
			}
			return !is_touched;
		}
		default:
			for (int i = 0; i < trigger->tgnattr; i++)
				is_touched |=
					bms_is_member(trigger->tgattr[i] - FirstLowInvalidHeapAttributeNumber, written);
			return trigger->tgnattr > 0 && !is_touched;
	}
}

// The trigger in words; one of a foreign key by its constraint, as PostgreSQL makes its own name up.
static const char *
words_for(const Trigger *trigger)
{
	if (RI_FKey_trigger_type(trigger->tgfoid) == RI_TRIGGER_NONE)
		return psprintf("trigger %s", quote_identifier(trigger->tgname));
	const char *constraint = get_constraint_name(trigger->tgconstraint);
	return psprintf("foreign key %s", constraint == nullptr ? "?" : quote_identifier(constraint));
}

const char *
find_trigger(Relation table, int16 event, const Bitmapset *written)
{
	// A copy, as reading a trigger's function may process an invalidation that frees the original.
	const TriggerDesc *triggers = CopyTriggerDesc(table->trigdesc);
	for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
		const Trigger *trigger = &triggers->triggers[i];
		if ((trigger->tgtype & event) == 0 || trigger->tgenabled == TRIGGER_DISABLED ||
			wake::is_wake_function(trigger->tgfoid))
			continue;
		if (event != TRIGGER_TYPE_UPDATE || !ignores_update(table, trigger, written))
			return words_for(trigger);
	}
	return nullptr;
}

// Unconditionally, for all columns, in any session_replication_role. A statement on a parent of the table fires the table's
// triggers for rows, and not those for statements, which queues of 0.1 have.
bool
has_wake_trigger(Relation table)
{
	constexpr int16 events = TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE;
	const TriggerDesc *triggers = CopyTriggerDesc(table->trigdesc); // see find_trigger()
	for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
		const Trigger *trigger = &triggers->triggers[i];
		if (wake::is_wake_function(trigger->tgfoid) && (trigger->tgtype & events) == events &&
			trigger->tgnattr == 0 && trigger->tgqual == nullptr &&
			trigger->tgenabled == TRIGGER_FIRES_ALWAYS &&
			(TRIGGER_FOR_ROW(trigger->tgtype) || !has_superclass(RelationGetRelid(table))))
			return true;
	}
	return false;
}

void
depend_on_triggers(Definition *definition, Relation table)
{
	const TriggerDesc *triggers = CopyTriggerDesc(table->trigdesc); // see find_trigger()
	for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++)
		catalog::depend_on_object(&definition->dependent, PROCOID, triggers->triggers[i].tgfoid);
}

} // namespace queue_ext::claim
