// job_result.hpp - what became of a job of a managed queue.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::queue {

// The columns of what is found.
constexpr int found_state = 0;       // text
constexpr int found_finished_at = 1; // timestamptz
constexpr int found_result = 2;      // jsonb
constexpr int found_count = 3;

// Looks the job up in the queue's table and its archive, in the newest committed state. False, with all null, if it is in
// neither. The values are in the current memory context. Opens SPI. The table must be locked. Raises what the executor
// raises.
bool find_result(definition::Definition *definition, int64 id, Datum *values, bool *nulls);

} // namespace queue_ext::queue
