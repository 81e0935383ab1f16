// wake.hpp - makes rows known to claims that functions of this extension have written by
// statements, where the trigger (wake_trigger.hpp) has not.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::claim {

// Notes, unless the trigger does, that a job was given back; it will be claimable at due (0: at
// once). Raises what compiled_claim_of() raises, and 53200.
void note_given_back(definition::Definition *definition, TimestampTz due);

} // namespace queue_ext::claim
