// definition.hpp - what a queue is: a description of a table's pending rows.
//
// Invariant: a definition is a copy of the queue's registry row, with the names of its tables at
// the time when it was made. An invalidation message about any of these marks it invalid. It stays
// in memory for the calls that use it (definition_cache.hpp), so these may go on with it.
//
// The higher layers keep what they need of a queue beside its definition: each has a struct of its
// own there, which is freed with the definition. Its statements are made by statement_at(), so that
// the cache can measure them, and free their plans.
//
// Example:
//     struct LooksKept
//     {
//         static constexpr Layer layer = Layer::wait;
//         statement::Statement *look; // null until it is needed
//     };
//     statement::Statement *look = statement_at(definition, &beside<LooksKept>(definition)->look);

#pragma once

#include "../postgres.hpp"

#include "../catalog/dependency.hpp"
#include "../statement/statement.hpp"

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

struct Compiled;   // compiled.hpp
struct CachedName; // name_cache.hpp

// How the claim of a worker keeps others from the job.
enum class ClaimMode {
	update,      // on_claim writes a row version that is not pending
	transaction, // a row lock, until the transaction ends
	session,     // an advisory lock, until the session ends
};

// What becomes of a job that no worker has started before it expires.
enum class OnExpire { none, dead, archive, remove };

// The layers that keep something beside a definition: one struct each, which names its layer.
enum class Layer { stats, claim, wait, job, unique, queue };
constexpr int layer_count = static_cast<int>(Layer::queue) + 1;

// A statement beside a definition, prepared or not.
struct ListedStatement
{
	statement::Statement statement;
	ListedStatement *next;
};

// The columns of an attached queue's table that say how old its jobs are. Null: none.
struct AgeColumns
{
	const char *ready_at;   // since when a job may be claimed
	const char *claimed_at; // since when it has been claimed
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
	Size size;                // with its statements and names, when last measured
	Size statements_size;     // of its statements alone
	bool gave_statements;     // has given up statements before
	bool has_grown;           // since it was measured
	Definition *next_grown;   // the next definition that has grown
	CachedName *cached_names; // those that lead to it, the newest first

	const char *name;            // as stored: one part, not quoted
	Oid source;                  // the table
	const char *source_name;     // qualified and quoted
	const char *lock_name;       // the queue's name in the names of locks (name.hpp)
	bool is_archived;            // finished jobs go to the archive
	Oid archive;                 // the present or the last one, or InvalidOid
	const char *archive_name;    // qualified and quoted; null if there is no such archive
	Oid dead_queue;              // the table of the queue that takes dead jobs, or InvalidOid
	const char *dead_queue_name; // qualified and quoted; null if there is no such table
	statement::Named tables[2];  // the source and the archive
	bool has_slots;              // of the archive (keep.hpp)
	Interval archive_keep;       // of finished jobs; zero: for ever
	Interval dead_keep;          // of dead jobs; zero: for ever
	OnExpire on_expire;

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
	void *beside[layer_count];   // see beside(); each is null until it is needed
	ListedStatement *statements; // of all layers
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

// Zeroed memory that is freed with the definition. Raises 53200.
void *allocate_beside(Definition *definition, Size size);

// What the layer T::layer keeps beside the definition, if that has been made; or null.
template <typename T>
T *
known_beside(const Definition *definition)
{
	return static_cast<T *>(definition->beside[static_cast<int>(T::layer)]);
}

// What the layer T::layer keeps beside the definition, made when first asked for, all zeros. Raises 53200.
template <typename T>
T *
beside(Definition *definition)
{
	static_assert(std::is_trivially_destructible_v<T>);
	void **place = &definition->beside[static_cast<int>(T::layer)];
	if (*place == nullptr)
		*place = allocate_beside(definition, sizeof(T));
	return static_cast<T *>(*place);
}

// The statement whose place that is, beside the definition; made, not prepared, when first asked for. Raises 53200.
statement::Statement *statement_at(Definition *definition, statement::Statement **place);

// Calls visit(Statement *) for each statement beside the definition, prepared or not.
template <typename Visit>
void
each_statement(const Definition *definition, Visit &&visit)
{
	for (ListedStatement *listed = definition->statements; listed != nullptr; listed = listed->next)
		visit(&listed->statement);
}

// A statement that a layer keeps, and what it does, for the context of errors: words that live for ever. The fragments
// that it evaluates are in parentheses.
struct KeptStatement
{
	statement::Statement *statement;
	const char *act;
};

// The statement that the layer T::layer keeps as T::statements[which], made when first asked for. Raises 53200.
template <typename T, typename Which>
KeptStatement
kept_statement(Definition *definition, Which which, const char *act)
{
	statement::Statement **places = beside<T>(definition)->statements;
	return {statement_at(definition, &places[static_cast<int>(which)]), act};
}

// Those of the source and the archive that the text of a statement names. The list is the definition's.
statement::Tables tables_in(const Definition *definition, const char *text);

// The statement, prepared on the first call from the text that make_text() returns. Raises what make_text() and
// prepare() raise. Needs SPI open.
template <typename MakeText>
const statement::Statement &
prepared_of(Definition *definition, const KeptStatement &kept, statement::Access access,
			MakeText &&make_text)
{
	if (!kept.statement->is_prepared()) {
		const char *text = make_text();
		prepare(kept.statement, text, definition->row_type, access, tables_in(definition, text),
				{kept.act, definition->name});
		kept.statement->follows_partitions = definition->is_partitioned;
		note_growth(definition);
	}
	return *kept.statement;
}

// The statement, which finds its rows by any index, prepared on the first call from the text that make_text()
// returns. Raises what make_text() and prepare() raise. Needs SPI open.
template <typename MakeText>
const statement::Statement &
prepared_of(Definition *definition, const KeptStatement &kept, MakeText &&make_text)
{
	return prepared_of(definition, kept, statement::Access::by_key, make_text);
}

} // namespace queue_ext::definition
