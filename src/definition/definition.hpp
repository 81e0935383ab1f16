// definition.hpp - what a queue is: a description of a table's pending rows.
//
// Invariant: a definition is a copy of the queue's registry row, with the names of its tables at
// the time when it was made, and the statements prepared for it. An invalidation message about any
// of these marks it invalid. It stays in memory for the calls that use it (definition_cache.hpp),
// so these may go on with it.

#pragma once

#include "../postgres.hpp"

#include "../catalog/dependency.hpp"
#include "../statement/statement.hpp"

namespace queue_ext::claim {
struct CompiledClaim;
} // namespace queue_ext::claim

namespace queue_ext::job {
struct Completion;
} // namespace queue_ext::job
namespace queue_ext::stats {
struct Entry;
}
namespace queue_ext::unique {
struct Lookup;
}

namespace queue_ext::definition {

// The SQL that describes the queue. Null where the queue has no such fragment.
struct Fragments
{
	const char *pending;
	const char *order_by;
	const char *on_claim;
	const char *on_complete;
	const char *on_release;
	const char *on_fail;
	const char *on_extend;
};

struct Compiled; // compiled.hpp
struct Meaning;  // meaning.hpp

// How the claim of a worker keeps others from the job.
enum class ClaimMode {
	update,      // on_claim writes a row version that is not pending
	transaction, // a row lock, until the transaction ends
	session,     // an advisory lock, until the session ends
};

// The statements that a definition keeps prepared, besides its claims.
enum class Prepared {
	send,
	send_many,
	send_kind, // sends a job with a kind
	send_many_kind,
	complete,
	complete_many,
	complete_timed, // which also return when the job was claimed
	complete_many_timed,
	fail_timed,
	fail_many_timed,
	fail,
	fail_many,
	released, // how many claims of jobs were given back
	release,
	release_many,
	extend,
	extend_many,
	cancel,
	cancel_many,
	cancel_told, // which also return in which states the jobs were
	cancel_many_told,
	requeue,
	requeue_many,
	find_result,
	remove_dead,
	complete_row,
	release_row,
	fail_row,
	extend_row,
	row_key,
	claim_by_tid,
	claim_one_by_tid,
	claim_locked_by_tid, // which the claimer has locked
	claim_located,       // for a table without a key: updates the rows at these TIDs
	fill_head,           // reads candidates for the ring, from the head of the order
	any_pending,         // whether a row is pending, locked or not
	count_pending,       // how many are
	ready,               // finds a row that looks pending
	// any_pending and ready of jobs of one kind, and of some kinds (KindForm).
	any_pending_of_one,
	any_pending_of_some,
	ready_of_one,
	ready_of_some,
	due_rows, // of an attached queue: the first rows that become claimable by themselves
	recheck,  // in mode session: the row, if it is still pending
	unique_find,
	unique_insert,
	unique_insert_many,
	send_occurrence,   // of a schedule; it has parameters of its own
	remove_occurrence, // unless a worker has taken it
	drop_occurrence,   // which this transaction has claimed
	unclaimed,         // finds those jobs that no worker has taken yet
	unique_insert_kind,
	unique_insert_many_kind,
};
constexpr int prepared_count = static_cast<int>(Prepared::unique_insert_many_kind) + 1;

// Which jobs a statement of a claim finds.
enum class KindForm {
	all,  // of every kind
	one,  // of one
	some, // of some
};

// The statement of a claim has the number of jobs as a constant, which the planner can use; workers
// rarely use more than a few different ones.
struct PreparedClaim
{
	int max_jobs;
	KindForm form;
	statement::Statement statement;
};
constexpr int prepared_claim_count = 4;

// The statements that claim rows of one partition or child by their TIDs. Claims of a table with more
// of them than there are of these are portable: they would prepare them again and again.
struct PreparedLeaf
{
	Oid table; // InvalidOid: none yet
	statement::Statement many;
	statement::Statement one; // for one row
};
constexpr int prepared_leaf_count = 64;

// The columns of an attached queue's table that say how old its jobs are. Null: none.
struct AgeColumns
{
	const char *ready_at;   // since when a job may be claimed
	const char *claimed_at; // since when it has been claimed
};

// What is known of a queue's schedules (claim/recurring.hpp).
struct Recurrence
{
	bool is_known;        // whether there are any
	bool has_schedules;   // or there were, when that was looked up
	TimestampTz check_at; // lost occurrences are to be looked for then, at the latest
	TimestampTz next;     // the next moment of the schedules that is after the last such look
	uint64 sent;          // lost occurrences that this backend has sent again
	int checked;          // how many overdue schedules the last looks have come by, before its end
};

// One entry of the definition cache.
struct Definition
{
	MemoryContext context; // with its children: this struct and all it points to but plans
	catalog::Dependent dependent;
	// Among all definitions of this backend: by their last use, and by when they were made.
	catalog::Links<Definition> links;
	catalog::Links<Definition> age;
	// Among those with statements: by when the last of these was prepared.
	catalog::Links<Definition> statements_age;
	Size size;              // with its statements and meanings, when last measured
	Size statements_size;   // of its statements alone
	bool gave_statements;   // has given up statements before
	bool has_grown;         // since it was measured
	Definition *next_grown; // the next definition that has grown
	Meaning *meanings;      // what is remembered to mean it, the newest first

	const char *name;           // as stored: one part, not quoted
	Oid source;                 // the table
	const char *source_name;    // qualified and quoted
	const char *lock_name;      // the queue's name in the names of locks (name.hpp)
	bool is_archived;           // finished jobs go to the archive
	Oid archive;                // the present or the last one, or InvalidOid
	const char *archive_name;   // qualified and quoted; null if there is no such archive
	statement::Named tables[2]; // the source and the archive
	bool has_slots;             // of the archive (keep.hpp)
	Interval archive_keep;      // of finished jobs; zero: for ever
	Interval dead_keep;         // of dead jobs; zero: for ever
	TimestampTz next_look;      // when completions look for expired slots again (queue/expiry.hpp)

	Oid row_type; // of the table

	bool is_partitioned;
	bool has_children; // or has had some (pg_class.relhassubclass)
	ClaimMode claim_mode;
	bool is_managed;
	bool is_paused;
	Fragments fragments;
	const char *search_path; // of the call that wrote the fragments
	Interval lease;
	Interval backoff_base;
	Interval backoff_cap;
	int32 max_attempts;
	AgeColumns ages;

	const Compiled *compiled;    // null until compiled_of() is called
	claim::CompiledClaim *claim; // of claims from the ring; null until made
	job::Completion *completion; // of rows, without a statement; null until made
	unique::Lookup *lookup;      // of unique inserts; null until made
	stats::Entry *stats;         // where it was found last (stats/shared_table.cpp)
	uint64 stats_number;
	Recurrence recurrence;

	statement::Statement *prepared[prepared_count]; // each is null until it is needed
	PreparedClaim claims[prepared_claim_count];     // the most recently prepared first
	PreparedLeaf *leaves; // prepared_leaf_count of them; null until needed
	int next_leaf;        // the one to be replaced next
	// Read candidates behind the cursor (claim/fill.cpp): one for each run of columns; null until needed.
	statement::Statement *fills;
	int fill_count;
	// Read candidates of kinds (claim/fill.cpp): for each number of kinds one from the head of the order
	// and one behind the cursor; null until needed.
	statement::Statement *kind_fills;
	int kind_fill_count;
};

static_assert(std::is_trivially_destructible_v<Definition>);

// The lease given for the call, or else the queue's.
inline const Interval *
lease_of(const Definition *definition, const Interval *asked)
{
	return asked != nullptr ? asked : &definition->lease;
}

// To be called when memory has been added to the definition, so that it is measured again.
void note_growth(Definition *definition);

// One that note_growth() was called for, and this function has not returned since; null if there is
// none.
Definition *take_grown();

// The place of the definition's statement of that kind, made when first asked for.
statement::Statement *statement_of(Definition *definition, Prepared which);

// Those of the definition's tables that the text of a statement names. The list is the
// definition's.
statement::Tables tables_in(const Definition *definition, const char *text);

// What a statement of that kind does, for the context of errors.
const char *act_of(Prepared which);

// The definition's statement, prepared on the first call from the text that make_text() returns; act:
// what it does, for the context of errors. Raises what make_text() and prepare() raise. Needs SPI
// open.
template <typename MakeText>
const statement::Statement &
prepared_of(Definition *definition, statement::Statement *statement, statement::Access access,
			const char *act, MakeText &&make_text)
{
	if (!statement->is_prepared()) {
		const char *text = make_text();
		prepare(statement, text, definition->row_type, access, tables_in(definition, text),
				{act, definition->name});
		statement->follows_partitions = definition->is_partitioned;
		note_growth(definition);
	}
	return *statement;
}

// The definition's statement of that kind, prepared on the first call from the text that make_text()
// returns. Raises what make_text() and prepare() raise. Needs SPI open.
template <typename MakeText>
const statement::Statement &
prepared_of(Definition *definition, Prepared which, statement::Access access, MakeText &&make_text)
{
	return prepared_of(definition, statement_of(definition, which), access, act_of(which),
					   make_text);
}

// The definition's statement of that kind, which finds its rows by any index, prepared on the first call
// from the text that make_text() returns. Raises what make_text() and prepare() raise. Needs SPI open.
template <typename MakeText>
const statement::Statement &
prepared_of(Definition *definition, Prepared which, MakeText &&make_text)
{
	return prepared_of(definition, which, statement::Access::by_key, make_text);
}

} // namespace queue_ext::definition
