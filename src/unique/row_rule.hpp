// row_rule.hpp - how rows of a table are kept unique: by which columns, among which
// rows, with the statements that look and insert.
//
// Invariant: a rule is made for the table as it is, and marked invalid as soon as that
// may have changed. It stays in memory for the calls that use it. A backend has no more of
// them than queue_ext.definition_cache_size allows, and each a limited number of statements.

#pragma once

#include "../postgres.hpp"

#include "../catalog/dependency.hpp"
#include "../statement/statement.hpp"
#include "value_text.hpp"

namespace queue_ext::unique {

// A statement for rows with nulls in these places.
struct MaskedStatement
{
	bool *is_null;
	statement::Statement statement;
};
constexpr int masked_count = 16;

// A queue that rows of the table are in.
struct RowQueue
{
	Oid source;       // the table, or what it is a part of
	const char *name; // as stored
};

struct RowRule
{
	MemoryContext context; // holds this struct and all it points to
	catalog::Dependent dependent;
	RowRule *next;
	int use_count; // of calls that are under way; too high after one has failed
	Size size;     // with its statements, as measured
	bool has_grown;

	Oid table;
	statement::Named named; // it, for statements
	Oid row_type;
	const char *by;          // the columns' names as a JSON array
	const char *among_text;  // as the caller wrote it; null for all rows
	const char *search_path; // under which
	const char *among;       // compiled

	const char *lock_space; // "table=public.orders"; of partitions, the root's
	int width;              // of the table
	int column_count;
	Column *columns;
	List *queues;              // RowQueue *
	const char *index_command; // null: an index serves the look, or none can

	// Most recently used first.
	MaskedStatement finds[masked_count];   // by nulls in the columns
	MaskedStatement inserts[masked_count]; // by nulls in the row
};

static_assert(std::is_trivially_destructible_v<RowRule>);

// The statements for a row, good until the next is asked for. Want SPI open.
statement::Statement find_statement(RowRule *rule, const bool *are_columns_null);
statement::Statement insert_statement(RowRule *rule, const bool *is_null);

// The memory that it takes, with its statements.
Size size_of(const RowRule *rule);

// Frees it with its statements; no call may be using it. Never raises.
void free_rule(RowRule *rule);

} // namespace queue_ext::unique
