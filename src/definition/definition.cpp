// definition.cpp - see definition.hpp.

#include "../postgres.hpp"

#include "definition.hpp"

namespace queue_ext::definition {

static bool any_grown = false;

void
note_growth(Definition *definition)
{
	definition->has_grown = true;
	any_grown = true;
}

bool
take_growth()
{
	const bool has_any = any_grown;
	any_grown = false;
	return has_any;
}

} // namespace queue_ext::definition
