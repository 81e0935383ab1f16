// definition.cpp - see definition.hpp.

#include "../postgres.hpp"

#include "definition.hpp"

namespace queue_ext::definition {

// A list, so that the cache need not look at each definition.
static Definition *grown = nullptr;

void
note_growth(Definition *definition)
{
	if (definition->has_grown)
		return;
	definition->has_grown = true;
	definition->next_grown = grown;
	grown = definition;
}

Definition *
take_grown()
{
	Definition *definition = grown;
	if (definition == nullptr)
		return nullptr;
	grown = definition->next_grown;
	definition->has_grown = false;
	return definition;
}

// A session uses few of the kinds, and of many queues only two or three.
statement::Statement *
statement_of(Definition *definition, Prepared which)
{
	statement::Statement **place = &definition->prepared[static_cast<int>(which)];
	if (*place == nullptr)
		*place = static_cast<statement::Statement *>(
			MemoryContextAllocZero(definition->context, sizeof(statement::Statement)));
	return *place;
}

// Searches the text for the archive's qualified name; a false match only adds a check.
statement::Tables
tables_in(const Definition *definition, const char *text)
{
	const bool names_archive =
		definition->archive_name != nullptr && strstr(text, definition->archive_name) != nullptr;
	return {definition->tables, names_archive ? 2 : 1};
}

// The fragments that the statement evaluates are in parentheses.
const char *
act_of(Prepared which)
{
	switch (which) {
		case Prepared::send:
		case Prepared::send_many:
		case Prepared::send_kind:
		case Prepared::send_many_kind:
			return "insert into";
		case Prepared::complete:
		case Prepared::complete_many:
		case Prepared::complete_timed:
		case Prepared::complete_many_timed:
		case Prepared::complete_row:
			return "completion (\"on_complete\") in";
		case Prepared::fail:
		case Prepared::fail_many:
		case Prepared::fail_timed:
		case Prepared::released:
		case Prepared::fail_many_timed:
		case Prepared::fail_row:
			return "failure (\"on_fail\") in";
		case Prepared::release:
		case Prepared::release_many:
		case Prepared::release_row:
			return "release (\"on_release\") in";
		case Prepared::extend:
		case Prepared::extend_many:
		case Prepared::extend_row:
			return "extension (\"on_extend\") in";
		case Prepared::cancel:
		case Prepared::cancel_many:
		case Prepared::cancel_told:
		case Prepared::cancel_many_told:
			return "cancellation in";
		case Prepared::requeue:
		case Prepared::requeue_many:
			return "requeue in";
		case Prepared::find_result:
			return "search of a result in";
		case Prepared::remove_dead:
			return "removal of dead jobs from";
		case Prepared::claim_by_tid:
		case Prepared::claim_one_by_tid:
		case Prepared::claim_locked_by_tid:
		case Prepared::claim_located:
			return "claim (\"pending\", \"order_by\", \"on_claim\") from";
		case Prepared::row_key:
			return "search by key in";
		case Prepared::fill_head:
			return "search (\"pending\", \"order_by\") in";
		case Prepared::any_pending:
		case Prepared::count_pending:
		case Prepared::ready:
		case Prepared::any_pending_of_one:
		case Prepared::any_pending_of_some:
		case Prepared::ready_of_one:
		case Prepared::ready_of_some:
		case Prepared::due_rows:
		case Prepared::recheck:
			return "search (\"pending\") in";
		case Prepared::unique_find:
		case Prepared::unique_insert:
		case Prepared::unique_insert_many:
		case Prepared::unique_insert_kind:
		case Prepared::unique_insert_many_kind:
			return "unique insert into";
		case Prepared::send_occurrence:
			return "next occurrence of a schedule in";
		case Prepared::remove_occurrence:
		case Prepared::drop_occurrence:
		case Prepared::unclaimed:
			return "occurrence of a schedule in";
	}
	pg_unreachable();
}

} // namespace queue_ext::definition
