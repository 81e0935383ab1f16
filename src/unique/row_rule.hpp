// row_rule.hpp - how the rows of a table are kept unique: by which columns, among which rows, with
// the statements that look and insert.
//
// Invariant: a rule is made for the table as it is, and marked invalid as soon as an invalidation
// message says that this may have changed. It stays in memory for the calls that use it. A backend
// keeps no more rules than queue_ext.definition_cache_size allows, each with a limited number of
// statements.

#pragma once

#include "../postgres.hpp"

#include "../catalog/dependency.hpp"
#include "../statement/statement.hpp"
#include "value_text.hpp"

namespace queue_ext::unique {

// A statement for rows with nulls in these columns: it depends on them.
struct MaskedStatement
{
	bool *is_null;
	statement::Statement statement;
};
// The number of statements of each kind that a rule keeps.
constexpr int masked_count = 16;

// A queue that the rows of the table belong to.
struct RowQueue
{
	Oid source;       // the table, or one that it is a partition of
	const char *name; // as in the registry
};

// A compiled rule, linked into the backend's list (rule_cache.cpp).
struct RowRule
{
	MemoryContext context; // holds this struct and all it points to
	catalog::Dependent dependent;
	RowRule *next;
	int use_count;  // calls that use it; too high after an error, until the transaction ends
	Size size;      // with its statements, when last measured
	bool has_grown; // since then

	Oid table;
	statement::Named named; // the table, for statements
	Oid row_type;
	const char *by;          // the columns' names as a JSON array
	const char *among_text;  // as the caller wrote it; null for all rows
	const char *search_path; // of that text; null without one
	const char *among;       // compiled, as SQL

	const char *lock_space; // "table=public.orders"; of a partition, that of its root
	int width;              // the number of attributes
	int column_count;
	RuleColumn *columns;
	List *queues;              // RowQueue *
	const char *index_command; // null: an index supports the duplicate check, or none can

	// Most recently used first.
	MaskedStatement finds[masked_count];   // by nulls in the rule's columns
	MaskedStatement inserts[masked_count]; // by nulls in the row
};

static_assert(std::is_trivially_destructible_v<RowRule>);

// Return the statements for a row with these nulls, each valid until the next is asked for. SPI
// must be open. Raise what the parser raises.
statement::Statement find_statement(RowRule *rule, const bool *are_columns_null);
statement::Statement insert_statement(RowRule *rule, const bool *is_null);

// Returns the memory that the rule and its statements take.
Size size_of(const RowRule *rule);

// Frees the rule with its statements; no call may be using it. Never raises.
void free_rule(RowRule *rule);

} // namespace queue_ext::unique
