// candidate_row.hpp - the row version at a candidate's TID, read without a statement.
//
// Invariant: the version is read with SnapshotSelf: committed, or this transaction's own, and not
// replaced by a committed transaction. Another backend may replace it at any moment, so the claimer
// must win the write or the lock. The table must be a heap, and locked.

#pragma once

#include "../postgres.hpp"

#include "compiled_claim.hpp"

namespace queue_ext::claim {

// A claimer's means to read candidates of one table.
struct CandidateRow
{
	Relation table;
	const RingClaim *claim;
	TupleTableSlot *slot;    // the version read, in a buffer
	LockTupleMode lock_mode; // of the claim's write
	ExpiryColumns expiry;    // of that table
	CommandId first_command; // the command ID with which the call began
	BlockNumber block_count; // of the table, when last asked for
};

// Begins to read rows of the table: the queue's, a partition of it, or a child. On ERROR, the
// resource owner and the memory context release what it holds.
// first_command: the command ID with which the call began.
CandidateRow open_candidate_row(Relation table, const RingClaim *claim, CommandId first_command);

void close_candidate_row(CandidateRow *row);

// Reads the version at the TID. False if there is none, or if it is not of the row for which the
// candidate was made: that row is claimed when its own turn comes.
bool fetch(CandidateRow *row, ring::Candidate *candidate);

// Reads the version at the TID if this transaction has removed or replaced it, so that it alone does not
// see it any more. False if there is no such version, or if it is not of the row for which the candidate
// was made.
bool fetch_removed_here(CandidateRow *row, ring::Candidate *candidate);

// The header of the version read.
HeapTupleHeader header_of(const CandidateRow *row);

// The buffer that has the version read.
Buffer buffer_of(const CandidateRow *row);

// Whether this transaction has written the version read.
bool is_of_this_transaction(const CandidateRow *row);

// Whether this call has written the version read: its lease may be over by now, but one pop does
// not return a job twice.
bool is_own(const CandidateRow *row);

// Whether another transaction in progress is changing the row of the version read, or has it
// locked. Only a guess, but trying would assign an XID.
bool is_taken(const CandidateRow *row);

// Whether the row that was read is of those kinds; null: of any. A row whose kind is changed is another
// version.
bool is_of_kinds(const CandidateRow *row, const ring::Kinds *kinds);

} // namespace queue_ext::claim
