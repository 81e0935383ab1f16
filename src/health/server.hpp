// server.hpp - findings about the server and the extension, which are of no queue; and about what the caller may not
// look at, and is told nothing of.

#pragma once

#include "../postgres.hpp"

#include "subject.hpp"

namespace queue_ext::health {

// vacuum_held_by_transaction, vacuum_held_by_prepared_transaction, vacuum_held_by_slot,
// vacuum_held_by_standby; as far as the caller may see what other roles do. Opens SPI.
void check_vacuum(const Findings &findings);

// extension_outdated.
void check_version(const Findings &findings);

// not_permitted, of a queue: its table, or else the sequence of that, or its archive.
void check_rights(const Subject &subject, Relation table);

// not_permitted, of the server: statistics, and what other sessions do.
void check_server_rights(const Findings &findings, bool may_count);

} // namespace queue_ext::health
