// key_advice.hpp - what a table without a key needs to get one.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::catalog {

// For a hint and a detail.
struct KeyAdvice
{
	const char *command;  // creates a key; null where no index can be one
	const char *obstacle; // why no index can, as a sentence
};

// The advice, in the current context. The relation must be locked and have no key. Each index is
// locked ACCESS SHARE while it is looked at.
KeyAdvice advise_key(Relation table);

} // namespace queue_ext::catalog
