// held_row.hpp - the rows that this session has claimed without writing: by the row's
// lock (claim mode transaction) or by an advisory lock (session).
//
// Invariants:
//   - a hold in mode transaction ends with the transaction, or with the
//     subtransaction that took it;
//   - a hold in mode session counts once the transaction that took it has
//     committed: its rollback gives the lock back. Finishing the job gives it back
//     when that has committed: before, others could not yet see that the job is
//     done;
//   - this session has an advisory lock for a hold in mode session, and only one.
//
// Rows are told apart by their row key (row_key.hpp).

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::claim {

// Registers the callbacks at the end of (sub)transactions. Called once, by
// _PG_init.
void register_held_row_callbacks();

// Whether this session has to pass the row by: it holds it, has finished it in
// this transaction, or is passing it by in a call.
bool is_known(Oid table, const char *row_key);

// Whether this session holds the row in the queue's claim mode and has not finished
// it.
bool is_held(const definition::Definition *definition, const char *row_key);

// Notes that this transaction has the row's lock.
void hold_row(Oid table, const char *row_key);

// What tells one hold from another of the same row; 0 is none.
using HeldId = uint64;

// Tries to take the advisory lock of the row, without waiting. Returns 0 if it cannot,
// and the row is passed by until forget_passed(), or if the row is known already.
// Raises 53200 when the server has no room for more locks.
HeldId try_hold(const definition::Definition *definition, const char *row_key);

// Whether the session still has that hold, and its lock: code of the user's may have
// let go of all advisory locks, and have taken the row's again.
bool has_hold(Oid table, const char *row_key, HeldId number);

// The row for which try_hold() returned the number turned out not to be pending, or
// the hold is gone. Gives its lock back, and passes the row by.
void pass_by(Oid table, const char *row_key, HeldId number);

// A call begins that will pass rows by; what is returned is for forget_passed().
HeldId begin_passing();

// The call is over: rows that it passed by may be looked at again. Calls may nest: what
// is pending may be a function that claims, too.
void forget_passed(HeldId begun);

// If the session holds the row in the queue's claim mode, notes that it is finished
// with. False if it does not. To be called before the ending is written, which may run
// code of the user's that lets go of everything.
bool finish_held_row(const definition::Definition *definition, const char *row_key);

} // namespace queue_ext::claim
