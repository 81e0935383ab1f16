// claims.hpp - findings about how a queue's claims are made.

#pragma once

#include "subject.hpp"

namespace queue_ext::health {

// claim_path_slow, sweeps_dear, claim_index_missing of an attached queue, claims_fail, definition_broken. Compiles
// the claim, as the table's owner, where the caller is that or a member of the role, and may read the table.
// Returns whether all claims are noted in a ring, as far as the table decides that.
bool check_claims(const Subject &subject, Relation table);

} // namespace queue_ext::health
