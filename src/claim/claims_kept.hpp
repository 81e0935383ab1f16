// claims_kept.hpp - what claims keep beside a queue's definition: the claim compiled, the statements of the
// paths, and when to look for lost occurrences of the queue's schedules, and for expired and dead jobs.
//
// Invariant: a plan may be gone, as the cache of definitions gives plans up; its statement is prepared again then.
// A statement that another one replaces is freed when no call is under way, as a call further up the stack may be
// running it.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../ring/kinds.hpp"

namespace queue_ext::claim {

struct CompiledClaim; // compiled_claim.hpp

// The statements that are kept by name.
enum class ClaimStatement {
	claim_by_tid,
	claim_one_by_tid,
	claim_locked_by_tid, // which the claimer has locked
	claim_located,       // for a table without a key: updates the rows at these TIDs
	fill_head,           // reads candidates for the ring, from the head of the order
	any_pending,         // whether a row is pending, locked or not
	any_pending_of_one,  // any_pending for one kind, and for some (ring::KindForm)
	any_pending_of_some,
	due_rows,          // of an attached queue: the first rows that become claimable by themselves
	recheck,           // in mode session: the row, if it is still pending
	send_occurrence,   // of a schedule; it has parameters of its own
	remove_occurrence, // unless a worker has taken it
	drop_occurrence,   // which this transaction has claimed
	unclaimed,         // finds those jobs that no worker has taken yet
	move_failed,       // moves those of some jobs that are dead to the dead queue
	look_for_dead,     // finds dead jobs, for a claim
	look_behind_dead,  // those behind a place
	lock_dead,         // locks a batch of those
	move_dead,         // finds and locks a batch, for queue_maintain
	move_behind_dead,  // one behind a place
	dead_stay,         // finds one that was to leave, and has stayed
	look_for_expired,  // finds expired jobs, for a claim
	lock_expired,      // locks a batch of those
	find_expired,      // finds and locks a batch, for queue_maintain
	end_expired,       // ends them as the queue says
	expired_stay,      // finds one that was to leave, and has stayed
};
constexpr int claim_statement_count = static_cast<int>(ClaimStatement::expired_stay) + 1;

// What a claim looks for from time to time (looks.hpp).
enum class LookKind { expired, dead };
constexpr int look_count = static_cast<int>(LookKind::dead) + 1;

// When it looks for that again.
struct NextLook
{
	TimestampTz at;
	int64 pause; // in microseconds, which that is the end of
};

// The statement of a claim has the number of jobs as a constant, which the planner can use; workers
// rarely use more than a few different ones.
struct PreparedClaim
{
	int max_jobs;
	ring::KindForm form;
	statement::Statement *statement; // null: none yet
};
constexpr int prepared_claim_count = 4;

// The statements that claim rows of one partition or child by their TIDs. Claims of a table with more
// of them than there are of these are portable: they would prepare them again and again.
struct PreparedLeaf
{
	Oid table; // InvalidOid: none yet
	statement::Statement *many;
	statement::Statement *one; // for one row
};
constexpr int prepared_leaf_count = 64;

// Whether a queue has schedules, and when to look for lost occurrences of them (recurring.hpp).
struct Recurrence
{
	bool is_known;        // whether there are any
	bool has_schedules;   // or there were, when that was looked up
	TimestampTz check_at; // lost occurrences are to be looked for then, at the latest
	TimestampTz next;     // the next moment of the schedules that is after the last such look
	uint64 sent;          // lost occurrences that this backend has sent again
	int checked;          // how many overdue schedules the last looks have passed, before its end
};

struct ClaimsKept
{
	static constexpr definition::Layer layer = definition::Layer::claim;
	CompiledClaim *compiled; // null until it is needed
	Recurrence recurrence;
	NextLook next_looks[look_count];
	statement::Named
		moved_tables[3]; // those that the moves of dead jobs name; the last is the archive
	statement::Statement *statements[claim_statement_count]; // each is null until it is needed
	PreparedClaim claims[prepared_claim_count];              // the most recently prepared first
	PreparedLeaf *leaves; // prepared_leaf_count of them; null until needed
	int next_leaf;        // the one to be replaced next
	// Read candidates behind the cursor (fill.cpp): one for each run of columns; null until needed.
	statement::Statement **fills;
	// Read candidates of kinds (fill.cpp): for each number of kinds one from the head of the order
	// and one behind the cursor; null until needed.
	statement::Statement **kind_fills;
};

// The claim that compiled_claim_of() has made for the definition.
inline CompiledClaim *
claim_of(const definition::Definition *definition)
{
	return definition::known_beside<ClaimsKept>(definition)->compiled;
}

// That of the queue. Raises 53200.
inline Recurrence *
recurrence_of(definition::Definition *definition)
{
	return &definition::beside<ClaimsKept>(definition)->recurrence;
}

// What the statement does, for the context of errors.
const char *act_of(ClaimStatement which);

// The statement beside the definition, and what it does. Raises 53200.
definition::KeptStatement kept_for_claims(definition::Definition *definition, ClaimStatement which);

} // namespace queue_ext::claim
