// citus.hpp - tables that the extension Citus has distributed.
//
// The rows of such a table are in its shards: tables of other names, on this server or on others. The
// table itself is empty, and the planner of Citus leads statements to the shards. That holds for all
// that Citus knows, in its catalog pg_dist_partition: tables that are distributed by a column, reference
// tables, tables of a distributed schema, and local ones that were added to its metadata. A claim that
// reads a table without the planner would find nothing there.
//
// The catalog is in the schema pg_catalog, where only a superuser can create a table, and only with
// allow_system_table_mods. So what has its name is believed, and whether the extension is there is not
// asked.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::catalog {

// Raises 0A000 if Citus has distributed the table, as far as is committed now.
void check_not_distributed(Oid table);

} // namespace queue_ext::catalog
