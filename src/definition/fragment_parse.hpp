// fragment_parse.hpp - a fragment as text: where it comes from, and what it may look like.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::definition {

enum class FragmentKind { condition, order, assignments };

// A fragment and where it comes from.
struct Fragment
{
	const char *text;
	FragmentKind kind;
	const char *label;    // "pending" and so on
	const char *queue;    // null: it is of none
	bool variables_first; // before columns of the same name
};

// The shortest statement in which such a fragment can stand last.
const char *statement_before(FragmentKind kind);

// That statement with the fragment.
const char *text_of(const Fragment &fragment);

// Parses the fragment: its one expression (as a target), its ORDER BY items or its
// assignments. Raises what the parser raises, 42601 if it is anything more or else,
// 42P02 for parameters, 0A000 for sub-selects that lock rows.
List *parse(const Fragment &fragment);

} // namespace queue_ext::definition
