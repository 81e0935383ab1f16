// compiled_claim.hpp - a queue's claim, ready to be run without a statement.
//
// Invariant: claims are direct only where a claim is nothing but reading a row, evaluating
// expressions, and writing or locking the row: on an ordinary table without children or rules, on
// which no trigger fires for what a claim writes, and with expressions of PostgreSQL's own functions
// and of immutable ones, on which the definition depends. The same holds for adding a job to a
// managed queue and for removing it. Other claims of heap tables are by TID (by_tid.hpp).
// User-defined code may run, so one call at a time evaluates the expressions (row/use.hpp). A
// compiled claim is of the type of its path: CompiledClaim where that is portable, TidClaim or
// DirectClaim. A call may take a path that is further down in Path. It lives as long as its definition.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../definition/fragment.hpp"
#include "../ring/cursor.hpp"
#include "../ring/ring.hpp"
#include "../row/computed.hpp"
#include "../row/plain.hpp"
#include "../row/use.hpp"
#include "caller.hpp"
#include "claims_kept.hpp"
#include "expiry_rule.hpp"

namespace queue_ext::claim {

// How a claim finds and writes its row.
enum class Path {
	direct,   // from the ring, without a statement (direct.hpp)
	tid,      // from the ring, by a statement over TIDs (by_tid.hpp)
	portable, // by a statement that finds its rows (portable.hpp)
};

// Why a claim takes no better path, in the words of a message, and what would change that.
struct Obstacle
{
	const char *reason; // null: there is none
	const char *hint;   // may be null
};

// The columns and indexes of a managed queue's table. InvalidAttrNumber: the queue is an attached one, its claims are
// portable, or the owner has dropped the column or given it another type; the last three: or the table is of the first
// layout.
struct ManagedTable
{
	bool has_columns; // all of the first seven
	AttrNumber id;
	AttrNumber attempt;
	AttrNumber leased_until;
	AttrNumber priority;
	AttrNumber run_at;
	AttrNumber max_attempts;
	AttrNumber payload;
	AttrNumber unique_key;
	AttrNumber dead_at;
	AttrNumber kind;
	AttrNumber released;
	AttrNumber expires_at;
	// InvalidOid: the queue is an attached one, or the index is missing.
	Oid index; // of the order; without it the ring is not sorted
	Oid dead_index;
	Oid kind_index; // by kind; without it no worker may name kinds
};

// What every path needs, and what other calls ask of the table.
struct CompiledClaim
{
	MemoryContext context; // holds this struct and all it points to
	Path path;             // the best that the table allows
	Obstacle obstacle;     // to a better one
	bool has_wake_trigger; // which notes every write; false where path is portable
	ManagedTable managed;
	ExpiryColumns expiry;  // of the queue's table
	AttrNumber claimed_at; // InvalidAttrNumber as those of ManagedTable, or none is named
	AttrNumber ready_at;   // of an attached queue alone; InvalidAttrNumber: none is named
	row::StackedUse use;   // whether a call is evaluating expressions of the queue
};

// When a row that is not pending becomes so by the clock alone (pending_clock.hpp).
struct DueExpression
{
	ExprState *state;
	const char *text;      // as SQL, of the row t
	const char *condition; // which all such rows meet
};

// What both paths from the ring need: Path::direct and Path::tid.
struct RingClaim : CompiledClaim
{
	CallerUse use_of_caller; // what pending asks
	CallerUse policies_use;  // what the table's policies ask, if they apply to the caller
	bool has_policies;       // the table has row security, if only for some callers
	bool is_beside;          // there is another queue of the table
	uint32 ended;            // see look_for_neighbours()
	uint64 table_version;    // begin_trust() (ring/ring.hpp)

	ExprState *pending; // null if it cannot be evaluated on a row; never on the direct path
	bool is_timeless;   // it depends on the row alone
	Bitmapset *written; // the columns that a claim writes, and those generated from them
	// Of an attached queue where it waits for a time that stands in the row, and callers choose alike. Null: it is
	// not known when a row that is not pending becomes so.
	const DueExpression *due;

	int order_count;         // 0: there is no cursor
	bool has_readable_order; // its columns are stored in the table's own rows (news.hpp)
	definition::OrderColumn *order_columns;
	ring::cursor::Column *cursor_columns; // the layout of their values in a cursor
	int run_count;                        // of runs of these columns in one direction
	int *runs;                            // the first column of each, and behind the last

	ring::RingKey key;        // for the call under way
	const ring::Kinds *kinds; // of the call under way; null: all
	ring::Ring *ring;         // where it was seen last; null: not looked up yet
	ring::Ring *told;         // which was told that this backend's claims take that path, and why
	Path told_path;
	const char *told_reason;
};

// The tables that have the rows, in the order of their OIDs. Null: only the queue's table itself.
struct Leaves
{
	Oid *tables;
	int count;
};

// What Path::tid needs.
struct TidClaim : RingClaim
{
	Leaves leaves;
};

// Those of a new job's columns that its sender does not give.
struct Defaults
{
	row::ColumnValue *columns;
	int count;
};

// What Path::direct needs.
struct DirectClaim : RingClaim
{
	ExprState *row_key; // as text; in the lock modes alone
	// In mode update alone.
	int column_count; // of those that a claim writes
	row::ColumnValue *columns;
	bool has_foreign_key; // of columns that a claim does not write
	row::Checks checks;
	// Of a managed queue without row security alone.
	const Defaults *defaults; // null: jobs cannot be sent without a statement
	bool can_remove;          // jobs can be completed without a statement
};

// The definition's compiled claim, made when first asked for. The table must be locked. Raises what
// compiling the fragments raises.
const CompiledClaim *compiled_claim_of(definition::Definition *definition);

// The claim that compiled_claim_of() has made, where the table allows claims from the ring. It stays so during a call: a
// claim that is compiled within the compilation of another is done before that one is stored.
inline RingClaim *
ring_claim_of(const definition::Definition *definition)
{
	CompiledClaim *claim = claim_of(definition);
	Assert(claim->path != Path::portable);
	return static_cast<RingClaim *>(claim);
}

// Notes whether there are other queues of the table, and how many had ended when this one was still in the registry;
// a number that is no count if it is not in it any more. Reads the registry.
void look_for_neighbours(RingClaim *claim, const definition::Definition *definition);

// The claim as one of the direct path; null where the table does not allow that.
inline const DirectClaim *
direct_claim(const CompiledClaim *claim)
{
	return claim->path == Path::direct ? static_cast<const DirectClaim *>(claim) : nullptr;
}

// The tables that have the rows of claims by TID, which a table may take that allows direct ones.
inline Leaves
leaves_of(const RingClaim *claim)
{
	return claim->path == Path::tid ? static_cast<const TidClaim *>(claim)->leaves : Leaves{};
}

// What a call makes of the claim: its variant, by which it finds its ring, and its kinds.
struct Variant
{
	uint64 number;
	const ring::Kinds *kinds;
};

// Sets the variant of the call. Returns the former one.
Variant set_variant(definition::Definition *definition, const Request &request);
void restore_variant(definition::Definition *definition, const Variant &former);

// Calls body() with that variant. Where callers differ, a call further up the stack may be one of
// another variant, so the former one is restored, also on ERROR.
template <typename Body>
void
with_variant(definition::Definition *definition, const Request &request, Body &&body)
{
	const Variant former = set_variant(definition, request);
	if (ring_claim_of(definition)->key.variant == former.number && request.kinds == former.kinds) {
		body();
		return;
	}
	PG_TRY();
	{
		body();
	}
	PG_FINALLY();
	{
		restore_variant(definition, former);
	}
	PG_END_TRY();
}

// Whether the table's policies apply to the caller.
bool has_policies_for_caller(const definition::Definition *definition);

// Whether candidates may be of that table.
bool is_leaf(const RingClaim *claim, Oid table);

// The ring of the queue for callers of the variant, made if there is none; null where claims are
// portable, for some kinds where their index is gone, or where no ring can be made. Takes locks as get_ring() does.
ring::Ring *ring_of(definition::Definition *definition);

} // namespace queue_ext::claim
