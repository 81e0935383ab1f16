// key_advice.hpp - what a table lacks whose rows nothing tells apart.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::catalog {

struct KeyAdvice
{
	const char *command;  // that gives it a key; null where no index can
	const char *obstacle; // why none can, a sentence
};

// In the current context. The relation must be locked, and without a key.
KeyAdvice advise_key(Relation table);

} // namespace queue_ext::catalog
