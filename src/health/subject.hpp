// subject.hpp - the queue that queue_health() looks at, its statistics and workers, and the findings.
//
// The names of findings are part of the interface: users set alerts on them. The reference lists them.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../ring/state.hpp"

namespace queue_ext::health {

// How much it matters.
enum class Severity {
	critical, // jobs are not done, or cannot be sent
	warning,  // jobs are done late, or will be, or some are given up
	info,     // worth knowing
};

// The strings are copied by put().
struct Finding
{
	const char *name;
	Severity severity;
	const char *detail; // a sentence
	const char *hint;   // what to do
};

// The result of the function.
struct Findings
{
	const ReturnSetInfo *result;
	TimestampTz now;
};

// Adds a finding about the queue of that name, as in the view "queues"; null: about the server.
void put(const Findings &findings, const char *queue, const Finding &finding);

// A moment, as an alert's reader wants it: in the session's time zone, whatever its DateStyle. In the
// current context.
const char *moment_text(TimestampTz moment);

// Defines the setting. Called once, by _PG_init.
void define_patience();

// How long, in microseconds, something may last that is harmless unless it lasts: queue_ext.health_patience.
int64 patience_us();

// The statistics of a managed queue.
struct Counted
{
	Oid table;
	int64 claimed;
	int64 expired;
	TimestampTz since;
	TimestampTz
		oldest_at; // since when a job has been ready, which is there; DT_NOEND: none is known
};

// The statistics of all managed queues of this database, by their tables, in the current context; null where the
// caller may not ask for statistics. Opens SPI.
HTAB *find_counted();

// The workers of a queue and their claims, by all its rings.
struct Workers
{
	NameData queue;             // in the table's schema
	TimestampTz came_at;        // when the last one looked for a job
	int waiting;                // that wait for one
	int64 sweep_cost_us;        // of the last sweep, in the ring where that was dearest
	bool is_by_tid;             // claims of some are by TID
	char path[ring::path_size]; // why, as in queue_claim_stats
};

// The workers of all queues of this database.
struct AllWorkers
{
	HTAB *by_table; // lists of Workers *
	bool is_full;   // rings are scarce: a queue without one may have workers
};

// Reads the workers from each ring of this database, into the current context. Takes the spinlock of
// each.
AllWorkers find_workers();

// The workers of one queue; null if it has no ring.
const Workers *workers_of(const AllWorkers &all, Oid table, const char *queue);

// The queue, whose table is locked, ACCESS SHARE.
struct Subject
{
	const Findings *findings;
	definition::Definition *definition;
	const char *name; // as in the view "queues"
	const AllWorkers *all;
	const Counted *counted; // null: nothing is
	const Workers *workers; // null: it has no ring
	bool may_read;          // the caller may read all rows of its table
	bool takes_dead;        // it is the dead queue of another one

	TimestampTz now() const
	{
		return findings->now;
	}
	void put(const Finding &finding) const
	{
		health::put(*findings, name, finding);
	}
};

} // namespace queue_ext::health
