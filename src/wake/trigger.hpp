// trigger.hpp - the trigger that makes rows known to claims which were not written by this
// extension's functions, but by INSERT, COPY or UPDATE.
//
// Fired for a row of a managed queue it offers the row to the queue's ring; fired for a row of another table, as which
// an argument marks it, it puts the row's version into the table's log (claim/news.hpp); fired for a statement, as
// where the table has partitions or children, it makes the next claim of every queue of the table sweep. It takes
// effect when the transaction has committed. Without it, fills, and sweeps at intervals, find such rows.
//
// It does not fire for what the direct path writes, and need not.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::wake {

// The trigger's name.
constexpr const char *wake_trigger_name = "queue_ext_wake";

// Whether the function is the trigger's. Reads the system catalogs.
bool is_wake_function(Oid function);

// A copy of the table's trigger, enabled or not, in the current memory context; null if it has none. Reads the
// system catalogs.
const Trigger *find_wake_trigger(Relation table);

// Creates the trigger as the caller, unless the table has it, as it is for tables of managed queues, or for others.
// Takes the locks of CREATE TRIGGER, DROP TRIGGER and ALTER TABLE, and raises what these raise.
void create_wake_trigger(Oid table, bool is_managed);

// Creates the trigger as the caller, or mends the one that the table has: one that was disabled, or is of another form,
// as before 0.2, or was made by hand, so that DROP EXTENSION would not drop it. Takes the locks of CREATE TRIGGER, DROP
// TRIGGER and ALTER TABLE, and raises what these raise.
void mend_wake_trigger(Oid table, bool is_managed);

// Drops the trigger as the caller, if the table has it. Takes the locks of DROP TRIGGER, and raises
// what it raises.
void drop_wake_trigger(Oid table);

} // namespace queue_ext::wake
