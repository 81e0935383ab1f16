// upgrade_archive.hpp - gives an archive slots (keep.hpp).

#pragma once

#include "../postgres.hpp"

#include "definition.hpp"

namespace queue_ext::definition {

// Whether the archive of a queue that does not keep jobs for ever is a plain table, which can be made into
// one with slots: it has no triggers, rules, policies or children, is in no publication by its name, and has
// no column "slot".
bool can_get_slots(const Definition *definition);

// Makes a partitioned table of the archive's name, with its columns, defaults, checks, owner and privileges,
// moves the rows there that are not past their keep, also those that the transaction's snapshot does not
// show, and drops the plain table. Returns the new one. Runs ordinary commands as the caller, who must own
// both tables, and moves the rows as their owner. Locks the queue's table in SHARE mode, so that nobody
// archives meanwhile, and the archive ACCESS EXCLUSIVE. Raises what the commands raise: 2BP01 if a view
// names the archive.
Oid give_slots(const Definition *definition);

} // namespace queue_ext::definition
