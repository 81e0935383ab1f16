// path.hpp - the setting queue_ext.claim_path.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::claim {

// Whether the setting allows jobs to be claimed, sent and completed without statements.
bool is_direct_allowed();

// Whether the setting allows jobs to be claimed by statements over TIDs.
bool is_tid_allowed();

// Defines the setting. Called once, by _PG_init.
void define_path();

} // namespace queue_ext::claim
