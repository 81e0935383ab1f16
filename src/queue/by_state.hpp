// by_state.hpp - statements that look at all jobs of a queue by their states.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::queue {

// Runs a statement on the queue's table with the wall clock as $1 and a state, or null, as $2. The
// statement reads the whole table, so it is planned for the run and has no generic plan. SPI must
// be open. Raises what run_once() raises.
void run_by_state(const definition::Definition *definition, const char *text, const ::text *state,
				  bool is_read_only);

} // namespace queue_ext::queue
