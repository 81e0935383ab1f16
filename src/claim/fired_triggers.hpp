// fired_triggers.hpp - the triggers of a table that writes of claims and sends fire.
//
// The table must be open. They read catalogs, and lock the table's indexes ACCESS SHARE while they do; they raise what
// that raises, and 53200.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::claim {

// A trigger other than our own that may fire for the event (TRIGGER_TYPE_...), in words; for an
// update, of these columns. Null if there is none.
const char *find_trigger(Relation table, int16 event, const Bitmapset *written);

// Whether every INSERT and UPDATE of the table fires the wake-up trigger.
bool has_wake_trigger(Relation table);

// Triggers are judged by their functions, so a change of one must invalidate the definition. Within make_dependent()
// (catalog/dependency.hpp).
void depend_on_triggers(definition::Definition *definition, Relation table);

} // namespace queue_ext::claim
