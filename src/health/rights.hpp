// rights.hpp - findings about what the caller may not look at, and is told nothing of.

#pragma once

#include "subject.hpp"

namespace queue_ext::health {

// not_permitted, of a queue: its table, or else the sequence of that, or its archive.
void check_rights(const Subject &subject, Relation table);

// The same of the server: statistics, and what other sessions do.
void check_server_rights(const Findings &findings, bool may_count);

} // namespace queue_ext::health
