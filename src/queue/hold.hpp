// hold.hpp - the rows that this session has claimed without writing: by the row's
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
// Rows are told apart by their identity (identity.hpp).

#pragma once

#include "../postgres.hpp"

#include "definition.hpp"

namespace queue_ext::queue {

// Registers the callbacks at the end of (sub)transactions. Called once, by
// _PG_init.
void register_hold_callbacks();

// Whether this session has to pass the row by: it holds it, has finished it in
// this transaction, or has passed it by in this call.
bool is_known(Oid table, const char *identity);

// Whether this session holds the row in the queue's claim mode and has not finished
// it.
bool is_held(const Definition *definition, const char *identity);

// Notes that this transaction has the row's lock.
void hold_row(Oid table, const char *identity);

// Tries to take the advisory lock of the row, without waiting. If it cannot, the
// row is passed by until forget_passed(). Raises 53200 when the server has no room
// for more locks.
bool try_hold(const Definition *definition, const char *identity);

// Gives back the lock of a row that try_hold() took in this call and that turned
// out not to be pending.
void pass_by(Oid table, const char *identity);

// The call is over: rows passed by may be looked at again.
void forget_passed();

// Notes that the held row is finished with.
void finish_hold(Oid table, const char *identity);

} // namespace queue_ext::queue
