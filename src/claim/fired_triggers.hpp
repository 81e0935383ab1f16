// fired_triggers.hpp - the triggers of a table that writes of claims and sends fire.
//
// None raises but for want of memory, nor takes a lock; the table must be open.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::claim {

// A trigger other than our own that may fire for the event (TRIGGER_TYPE_...), in words; for an
// update, of these columns. Null if there is none.
const char *find_trigger(Relation table, int16 event, const Bitmapset *written);

// Whether every INSERT and UPDATE of the table fires the wake-up trigger.
bool has_wake_trigger(Relation table);

// Triggers are judged by their functions, so a change of one must invalidate the definition.
void depend_on_triggers(definition::Definition *definition, Relation table);

} // namespace queue_ext::claim
