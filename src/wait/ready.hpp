// ready.hpp - whether a job of a queue stands ready, for those who do not claim it themselves.

#pragma once

#include "../postgres.hpp"

#include "../claim/request.hpp"
#include "../definition/definition.hpp"

namespace queue_ext::wait {

// Whether the caller might claim a job now. True also where another may be faster, or where a row
// that looks pending is locked; false only if there was a moment at which no job was claimable, or
// if another backend is reading the queue. Fills the ring; without one, locks a row. The queue's
// table must be locked, and a snapshot be active. Raises what the executor raises.
bool is_job_ready(definition::Definition *definition, const claim::Request &request);

} // namespace queue_ext::wait
