// wake_trigger.hpp - the trigger that makes rows known to claims which were not written by
// this extension's functions: by INSERT, COPY or UPDATE.
//
// Fired for a row of a managed queue it offers the row to the queue's ring; fired for
// a statement it has the next claim of every queue of the table sweep. It takes effect
// when the transaction has committed. Without it, such rows are found by the sweeps
// that come anyway.
//
// It does not fire for what the direct path writes, and need not.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::claim {

// The trigger's name.
constexpr const char *wake_trigger_name = "queue_ext_wake";

// Whether the function is the trigger's. Reads the catalogs.
bool is_wake_function(Oid function);

// Makes the trigger, as the caller, unless the table has it: for each row, which is for
// tables of managed queues, or for each statement.
void create_wake_trigger(Oid table, bool for_each_row);

// Drops it, as the caller, if the table has it.
void drop_wake_trigger(Oid table);

} // namespace queue_ext::claim
