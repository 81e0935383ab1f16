// wake.hpp - what makes rows known to claims that this extension's functions have written by
// statements; what the trigger (wake_trigger.hpp) has made known they leave to it.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::claim {

// A job has been given back, or will be claimable by itself at that time (0: at once):
// makes it known, if the trigger has not done so.
void note_given_back(definition::Definition *definition, TimestampTz due);

} // namespace queue_ext::claim
