// table.hpp - findings about a queue's table and its identity sequence: what they lack, and what they hold back.

#pragma once

#include "../postgres.hpp"

#include "subject.hpp"

namespace queue_ext::health {

// wake_trigger_missing, wake_trigger_disabled, archive_large.
void check_table(const Subject &subject, Relation table);

// sequence_behind, sequence_near_end. Of a managed queue.
void check_sequence(const Subject &subject, Relation table);

} // namespace queue_ext::health
