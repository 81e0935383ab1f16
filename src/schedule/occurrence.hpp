// occurrence.hpp - the unique_key of the jobs that schedules send.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::schedule {

// Stands before the name of the schedule. No unique insert makes a key that begins so.
constexpr const char *occurrence_prefix = "schedule|";

// Whether the unique_key is that of an occurrence.
bool is_occurrence(Datum unique_key);

} // namespace queue_ext::schedule
