// definition.hpp - what a queue is: a description of a table's pending rows.
//
// Invariant: a definition is a copy of its registry row, with the names of its
// tables as they were when it was made, and with the statements prepared for it.
// It is marked invalid as soon as any of that may have changed, and stays in
// memory for the calls that use it (definition_cache.hpp), so they may finish with it.

#pragma once

#include "../postgres.hpp"

#include "../catalog/dependency.hpp"
#include "../statement/statement.hpp"

namespace queue_ext::claim {
struct CompiledClaim;
}
namespace queue_ext::unique {
struct Lookup;
}

namespace queue_ext::definition {

// The SQL that says what the queue is. Null where the queue has none.
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

// How a worker holds the job it has claimed.
enum class ClaimMode {
	update,      // by what on_claim wrote
	transaction, // by the row's lock, until the transaction ends
	session,     // by an advisory lock, until the session ends
};

// The statements a definition keeps prepared, besides its claims.
enum class Prepared {
	send,
	send_many,
	complete,
	complete_many,
	fail,
	fail_many,
	release,
	release_many,
	extend,
	extend_many,
	cancel,
	cancel_many,
	requeue,
	requeue_many,
	complete_row,
	release_row,
	fail_row,
	extend_row,
	row_key,
	claim_located, // of a table without a key: writes the claim into located rows
	fill_head,     // candidates for the ring
	fill_behind,
	any_pending, // whether a row is pending, locked or not
	next_due,    // of a managed queue: when the first row becomes claimable by itself
	recheck,     // in session mode: the row, if it is still pending
	unique_find,
	unique_insert,
	unique_insert_many,
};
constexpr int prepared_count = static_cast<int>(Prepared::unique_insert_many) + 1;

// A claim's statement holds the number of jobs as a constant, for the planner to
// see; workers rarely use more than a few different ones.
struct PreparedClaim
{
	int max_jobs;
	statement::Statement statement;
};
constexpr int prepared_claim_count = 4;

struct Definition
{
	MemoryContext context; // holds this struct and all it points to
	catalog::Dependent dependent;
	catalog::Links<Definition> links; // of all that this backend has
	Size size;                        // with its statements, as measured
	bool has_grown;                   // since

	const char *name;           // as stored: one part, not quoted
	Oid source;                 // the table
	const char *source_name;    // qualified and quoted
	const char *lock_name;      // the queue's, in the names of locks (name.hpp)
	bool is_archived;           // finished jobs go to the archive
	Oid archive;                // the last one it had, or InvalidOid
	const char *archive_name;   // likewise; null when there is no such table (any more)
	statement::Named tables[2]; // the source and the archive

	Oid row_type; // of the table

	bool is_partitioned;
	bool has_children; // or has had some
	ClaimMode claim_mode;
	bool is_managed;
	bool is_paused;
	Fragments fragments;
	const char *search_path; // under which the fragments were written
	Interval lease;
	Interval backoff_base;
	Interval backoff_cap;
	int32 max_attempts;

	const Compiled *compiled;    // null until compiled_of() has been asked
	claim::CompiledClaim *claim; // of the direct path; null until made
	unique::Lookup *lookup;      // of unique inserts; null until made

	statement::Statement prepared[prepared_count];
	PreparedClaim claims[prepared_claim_count]; // most recently made first
};

static_assert(std::is_trivially_destructible_v<Definition>);

// The lease that was asked for, or else the queue's.
inline const Interval *
lease_of(const Definition *definition, const Interval *asked)
{
	return asked != nullptr ? asked : &definition->lease;
}

// To be told when something was added to the definition that takes memory.
void note_growth(Definition *definition);

// Whether that has happened to any since it was last asked.
bool take_growth();

// Those of the definition's tables that the text of a statement names.
statement::Tables tables_in(const Definition *definition, const char *text);

// The definition's statement of that kind, prepared when first asked for from the
// text that make_text() returns. Raises what prepare() raises. Wants SPI open.
template <typename MakeText>
const statement::Statement &
prepared_of(Definition *definition, Prepared which, statement::Access access, MakeText &&make_text)
{
	statement::Statement *statement = &definition->prepared[static_cast<int>(which)];
	if (!statement->is_prepared()) {
		const char *text = make_text();
		prepare(statement, text, definition->row_type, access, tables_in(definition, text));
		statement->follows_partitions = definition->is_partitioned;
		note_growth(definition);
	}
	return *statement;
}

// The same for a statement that finds its rows by their key.
template <typename MakeText>
const statement::Statement &
prepared_of(Definition *definition, Prepared which, MakeText &&make_text)
{
	return prepared_of(definition, which, statement::Access::by_key, make_text);
}

} // namespace queue_ext::definition
