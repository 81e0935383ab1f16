// compiled_claim.hpp - a queue's claim, ready to be run without a statement.
//
// Invariant: claims are direct only where a claim is nothing but reading a row, evaluating
// expressions, and writing or locking the row: on an ordinary table without children or rules, on
// which no trigger fires for what a claim writes, and with expressions of PostgreSQL's own functions
// and of immutable ones, on which the definition depends. The same holds for adding a job to a
// managed queue and for removing it. Other claims of heap tables are by TID (by_tid.hpp).
// User-defined code may run, so one call at a time evaluates the expressions (row/use.hpp). A
// compiled claim lives as long as its definition.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../definition/fragment.hpp"
#include "../ring/cursor.hpp"
#include "../ring/ring.hpp"
#include "../row/plain.hpp"
#include "../row/use.hpp"
#include "caller.hpp"
#include "claims_kept.hpp"

namespace queue_ext::claim {

// A column that is written, and the expression that gives its value.
struct ColumnValue
{
	AttrNumber number;
	ExprState *value;
	bool not_null;
};

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

// What claims from the ring know of a queue's table; incomplete where the path is portable, and
// without expressions where it is by TID, but for pending where that can be evaluated on a row.
struct CompiledClaim
{
	MemoryContext context;   // holds this struct and all it points to
	Path path;               // the best that the table allows
	Obstacle obstacle;       // to a better one
	CallerUse use_of_caller; // what pending asks
	CallerUse policies_use;  // what the table's policies ask, if they apply to the caller
	bool has_policies;       // the table has row security, if only for some callers
	bool can_insert;         // jobs of a managed queue can be sent without a statement
	bool can_remove;         // jobs of a managed queue can be completed without a statement
	bool has_wake_trigger;   // which tells of all that statements write (wake/trigger.hpp)
	uint64 table_version;    // begin_trust() (ring/ring.hpp)

	ExprState *pending; // null if it cannot be evaluated on a row
	ExprState *row_key; // as text, in the lock modes
	int column_count;   // of those that a claim writes
	ColumnValue *columns;
	Bitmapset *written;   // these columns, and those generated from them
	bool has_foreign_key; // of columns that a claim does not write
	row::Checks checks;
	int default_count; // of a new job's columns that its sender does not give
	ColumnValue *defaults;
	bool is_timeless; // pending depends on the row alone
	// Where it waits for a time that stands in the row, in a queue whose callers choose alike: when a row that is not
	// pending becomes so (pending_clock.hpp). Null: that is not known.
	ExprState *due;
	const char *due_text;      // as SQL, of the row t
	const char *due_condition; // which all such rows meet

	int order_count;         // 0: there is no cursor
	bool has_readable_order; // its columns are stored in the table's own rows (news.hpp)
	definition::OrderColumn *order_columns;
	ring::cursor::Column *cursor_columns; // the layout of their values in a cursor
	int run_count;                        // of runs of these columns in one direction
	int *runs;                            // the first column of each, and behind the last
	Oid *leaves; // that have the rows, in the order of their OIDs; null: only the table itself
	int leaf_count;

	// The columns of a managed queue's table. InvalidAttrNumber: the queue is an attached one, or the owner
	// has dropped the column or given it another type; claimed_at and kind: or the table is of the first
	// layout.
	bool has_columns; // all of the first seven
	AttrNumber id;
	AttrNumber attempt;
	AttrNumber leased_until;
	AttrNumber priority;
	AttrNumber run_at;
	AttrNumber max_attempts;
	AttrNumber payload;
	AttrNumber claimed_at; // of an attached queue: as ready_at
	AttrNumber ready_at;   // of an attached queue alone; InvalidAttrNumber: none is named
	AttrNumber unique_key;
	AttrNumber dead_at;
	AttrNumber kind;
	Oid index;      // of the order; InvalidOid: it is missing, and the ring is not sorted
	Oid dead_index; // InvalidOid: it is missing
	Oid kind_index; // by kind; InvalidOid: it is missing, and no worker may name kinds

	row::Use use;             // whether a call is evaluating the expressions
	ring::RingKey key;        // for the call under way
	const ring::Kinds *kinds; // of the call under way; null: all
	ring::Ring *ring;         // where it was seen last; null: not looked up yet
	ring::Ring *told;         // which was told that this backend's claims take that path, and why
	Path told_path;
	const char *told_reason;
};

// The definition's compiled claim, made when first asked for. The table must be locked. Raises what
// compiling the fragments raises.
const CompiledClaim *compiled_claim_of(definition::Definition *definition);

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
	if (claim_of(definition)->key.variant == former.number && request.kinds == former.kinds) {
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
bool is_leaf(const CompiledClaim *claim, Oid table);

// A trigger other than our own that may fire for the event (TRIGGER_TYPE_...), in words; for an
// update, of these columns. Null if there is none.
const char *find_trigger(Relation table, int16 event, const Bitmapset *written);

// The ring of the queue for callers of the variant, made if there is none; null where claims are
// portable, for some kinds where their index is gone, or where no ring can be made. Takes locks as get_ring() does.
ring::Ring *ring_of(definition::Definition *definition);

} // namespace queue_ext::claim
