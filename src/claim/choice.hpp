// choice.hpp - by which path a caller's claims of a queue are made, and why; the setting queue_ext.claim_path.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "compiled_claim.hpp"

namespace queue_ext::claim {

// Whether the setting allows jobs to be claimed, sent and completed without statements.
bool is_direct_allowed();

// Defines the setting. Called once, by _PG_init.
void define_path();

// A path, and what keeps the claims from a better one.
struct Choice
{
	Path path;
	Obstacle obstacle; // none where the path is direct
};

// Chooses the path of the caller's claims in this transaction: by the table, the fragments, the
// caller's rights and queue_ext.claim_path. Compiles the claim when first asked, and raises what
// that raises. The queue's table must be locked.
Choice choose_path(definition::Definition *definition);

// The name of the path, as in queue_ext.claim_path.
const char *name_of(Path path);

} // namespace queue_ext::claim
