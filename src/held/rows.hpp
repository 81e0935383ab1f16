// rows.hpp - the rows that this session holds: claimed without a write, by the row lock (claim
// mode transaction) or by an advisory lock (session).
//
// Invariants:
//   - a row held in mode transaction is held until the transaction ends, or the subtransaction that
//     took it is rolled back;
//   - a row held in mode session stays held if the transaction that took it commits; its rollback
//     releases the advisory lock. Finishing the job releases the lock when that has committed:
//     before, other sessions could not see yet that the job is done;
//   - for a row held in mode session, this session has the advisory lock once. User-defined code
//     may release it (pg_advisory_unlock_all(), DISCARD ALL); the row is then forgotten at the next
//     look.
//
// Rows are identified by their row key (catalog/row_key.hpp). A function that looks up a row reads the
// catalogs if a table with held rows was invalidated.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::held {

// Registers the callbacks for the ends of transactions and subtransactions, and those of
// tables.hpp. Called once, by _PG_init.
void register_held_row_callbacks();

// Whether a claim of this session must pass the row by: it holds the row, has finished it in this
// transaction, or passes it by in a call under way.
bool is_known(Oid table, const char *row_key);

// Whether it holds the row, or has finished it, since this transaction has taken it: its rollback lets the row go.
bool is_taken_here(Oid table, const char *row_key);

// Whether this session holds the row in the queue's claim mode and has not finished it.
bool is_held(const definition::Definition *definition, const char *row_key);

// Records that this transaction has the row lock. Raises 53200 for want of memory.
void hold_row(Oid table, const char *row_key);

// Identifies one holding of a row, as the same row may be held again later; 0 is none.
using HeldId = uint64;

// Tries to take the row's advisory lock, without waiting. Returns 0 if another session has it, or
// this one has taken it in another way: the row is then passed by until forget_passed(). Returns 0
// also for a row that is known already. Raises 53200 if the lock table is full.
HeldId try_hold(const definition::Definition *definition, const char *row_key);

// Whether the session still has that holding, and its lock: user-defined code may have released all
// advisory locks, and have taken the row again.
bool has_hold(Oid table, const char *row_key, HeldId id);

// Releases the lock of the row for which try_hold() returned id, and passes the row by until
// forget_passed(): the row was not pending, or the holding is gone.
void pass_by(Oid table, const char *row_key, HeldId id);

// Begins a call that passes rows by. Returns the ID for forget_passed().
HeldId begin_passing();

// Ends that call: rows that it has passed by may be tried again. Calls nest where "pending" has a
// function that claims.
void forget_passed(HeldId begun);

// Marks the row finished if the session holds it in the queue's claim mode; false if not. Must be
// called before the job's ending is written, which may run user-defined code that releases all
// locks.
bool finish_held_row(const definition::Definition *definition, const char *row_key);

} // namespace queue_ext::held
