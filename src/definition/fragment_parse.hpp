// fragment_parse.hpp - a fragment as text: what it may look like. For fragment.cpp.

#pragma once

#include "../postgres.hpp"

#include "fragment.hpp"

namespace queue_ext::definition {

// The shortest statement in which such a fragment can stand last.
const char *statement_before(FragmentKind kind);

// That statement with the fragment.
const char *text_of(const Fragment &fragment);

// Parses the fragment: its one expression (as a target), its ORDER BY items or its
// assignments. Raises what the parser raises, 42601 if it is anything more or else,
// 42P02 for parameters, 0A000 for sub-selects that lock rows.
List *parse(const Fragment &fragment);

} // namespace queue_ext::definition
