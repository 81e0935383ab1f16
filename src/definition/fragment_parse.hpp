// fragment_parse.hpp - the raw parse of a fragment, and the check of its shape.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::definition {

enum class FragmentKind { condition, order, assignments };

// The variables that a fragment can name.
enum class Scope {
	queue,  // of a queue's fragments
	repair, // of the condition of a repair: state, arguments, call_time
};

// The text of a fragment, and where it comes from.
struct Fragment
{
	const char *text;
	FragmentKind kind;
	const char *label;    // "pending" and so on
	const char *queue;    // null: of no queue (yet)
	bool variables_first; // before columns of the same name
	Scope scope = Scope::queue;
};

// The shortest statement that such a fragment can end.
const char *statement_before(FragmentKind kind);

// That statement, with the fragment at its end.
const char *text_of(const Fragment &fragment);

// Parses the fragment and returns its one expression (as a ResTarget), its ORDER BY items or its
// assignments. Raises what the raw parser raises, 42601 if it is not exactly one of these, 42P02
// for parameters, 0A000 for sub-selects that lock rows.
List *parse(const Fragment &fragment);

} // namespace queue_ext::definition
