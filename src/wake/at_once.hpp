// at_once.hpp - the time from which rows are claimable that may be so already, or where the time is not known: for
// written.hpp and note.cpp, of which neither may need the other.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::wake {

constexpr TimestampTz at_once = PG_INT64_MIN;

} // namespace queue_ext::wake
