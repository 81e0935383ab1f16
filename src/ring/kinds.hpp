// kinds.hpp - the kinds of jobs that a worker takes.
//
// A queue that was made with kinds => true has an index by kind, and its workers may name the kinds
// that they can do. The workers that name the same kinds share a ring, whose variant is the digest of
// the set (claim/caller.hpp); a worker that names none takes jobs of every kind, and those without one.
//
// In shared memory a kind is a hash. Two kinds with one hash cost a look at a row that is of another
// kind: before a row is claimed its own kind is compared.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::ring {

// The most kinds of a call (54000).
constexpr int most_kinds = 64;

// The hash of a kind. Two values are of no kind.
constexpr uint64 unknown_kind = 0; // of a row whose kind was not looked at
constexpr uint64 no_kind = 1;      // of a row without a kind
uint64 hash_of_kind(const text *kind);

// Of that row's kind. There may be no such column.
uint64 kind_in(TupleTableSlot *row, AttrNumber column);

// The kinds that a call names, each once, in the order of their bytes.
struct Kinds
{
	int count;
	const text *names[most_kinds];
	uint64 hashes[most_kinds];
	uint64 digest; // of the set; never 0
	Datum array;   // of the statements: padded with nulls to slot_count() elements
};

// Reads an array, which is kept. In the current context. Raises 22004 for a null, 22023 for an empty
// array or an element that is no kind, 54000 for too many.
const Kinds *read_kinds(ArrayType *array);

// Whether the row's kind is one of them.
bool includes(const Kinds &kinds, TupleTableSlot *row, AttrNumber column);

// Statements read the jobs of so many kinds: the power of two that is not below their number. So there
// are seven of them, and not sixty-four.
int slot_count(const Kinds &kinds);
constexpr int slot_counts = 7;
// The place of that number among the seven.
int slot_place(const Kinds &kinds);

// Which jobs a statement of a claim finds.
enum class KindForm {
	all,  // of every kind
	one,  // of one
	some, // of some
};

// Which statements find jobs of the kinds; null: of all.
KindForm form_of(const Kinds *kinds);

// How a statement of that form finds its rows in the order; others: how those of all jobs do.
statement::Access access_of(KindForm form, statement::Access others);

// The condition of that form over the row "t", beginning with " and "; or "".
const char *kind_condition(KindForm form);

} // namespace queue_ext::ring
