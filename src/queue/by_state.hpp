// by_state.hpp - looking at all jobs of a queue by their states.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::queue {

// Runs a statement on the queue's table that has the moment as $1 and a state, or null, as $2.
// It reads the whole table, so it has no generic plan. Wants SPI open. Raises what
// run_once() raises.
void run_by_state(const definition::Definition *definition, const char *text, const ::text *state,
				  bool is_read_only);

} // namespace queue_ext::queue
