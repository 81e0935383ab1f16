// archive_table.hpp - the archives of managed queues' tables, and their slots.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::definition {

// Creates the archive table of the queue's table. Raises 42P07 where such a table exists, 42622
// where its name would be too long, 42P01 where it does not exist afterwards.
// With slots, unless jobs are kept for ever.
Oid make_archive(Oid table, const Interval &keep);

// Makes the slots, and the index, of an archive that is partitioned by slot. They get its owner.
void make_slots(Oid archive);

// An existing archive of the table that the caller owns; InvalidOid if there is none.
Oid find_archive(Oid table);

} // namespace queue_ext::definition
