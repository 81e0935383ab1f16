// module.cpp - _PG_init(): settings, hooks and callbacks, when the server loads the library.

#include "postgres.hpp"

#include "catalog/dependency.hpp"
#include "catalog/own_table.hpp"
#include "claim/choice.hpp"
#include "claim/filler.hpp"
#include "compat.hpp"
#include "definition/definition_cache.hpp"
#include "definition/registry.hpp"
#include "health/subject.hpp"
#include "held/rows.hpp"
#include "key/advisory_lock.hpp"
#include "queue/archive_clearing.hpp"
#include "ring/shared_memory.hpp"
#include "row/use.hpp"
#include "statement/plan.hpp"
#include "stats/transaction_counters.hpp"
#include "unique/rule_cache.hpp"
#include "wait/ended.hpp"
#include "wait/sleep.hpp"
#include "wake/transaction_callbacks.hpp"

extern "C" {
QUEUE_EXT_MODULE_MAGIC;

// NOLINTNEXTLINE(bugprone-reserved-identifier): PostgreSQL's name
PGDLLEXPORT void _PG_init(void);
}

// MarkGUCPrefixReserved() must come after the last setting is defined: it removes the placeholders
// of all other settings named queue_ext.*.
void
_PG_init(void)
{
	queue_ext::claim::define_path();
	queue_ext::key::define_lock_setting();
	queue_ext::stats::register_table();
	queue_ext::ring::register_shared_memory();
	queue_ext::wake::register_transaction_callbacks();
	queue_ext::claim::register_filler();
	queue_ext::wait::register_waits();
	queue_ext::wait::register_end_waits();
	queue_ext::catalog::register_dependencies();
	queue_ext::catalog::register_own_tables();
	queue_ext::definition::register_definition_cache();
	queue_ext::health::define_patience();
	MarkGUCPrefixReserved("queue_ext");
	queue_ext::stats::register_transaction_counters();
	queue_ext::held::register_held_row_callbacks();
	queue_ext::statement::register_planning();
	queue_ext::row::register_uses();
	queue_ext::unique::register_rules();
	queue_ext::queue::register_archive_clearing();
}
