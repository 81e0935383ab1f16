// server.hpp - findings about the server and the extension, which are of no queue.

#pragma once

#include "finding.hpp"

namespace queue_ext::health {

// vacuum_held_by_transaction, vacuum_held_by_prepared_transaction, vacuum_held_by_slot,
// vacuum_held_by_standby; as far as the caller may see what other roles do. Opens SPI.
void check_vacuum(const Findings &findings);

// extension_outdated.
void check_version(const Findings &findings);

} // namespace queue_ext::health
