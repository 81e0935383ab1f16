// managed.hpp - the table and the fragments of a queue made by queue_create.
//
// Invariants of the table:
//   - attempt counts the claims of a job and never decreases: (id, attempt) identifies one
//     claim, as long as commits are durable.
//   - leased_until and leased_by are set by a claim and cleared by what ends it.
//   - dead_at is the time at which the job is, or will be, dead. The claim of the last
//     attempt sets it to the end of the lease: if the worker dies, the job is dead from
//     then on, and no process has to change the row.
//   - claimed_at is the time of the last claim, as attempt is its number: nothing clears it. Null
//     before the first claim, and if the last one was made under the first layout.
//   - released is how many of the claims that attempt counts are no failures: they were given back, or came before a
//     requeue. Null: none.
//   - errors is an array of what the last ten failures have said, the newest last; a failure writes it, and nothing else.
//     progress is what a worker has reported last (queue_extend). Null: none.
//   - expires_at is until when the job may be started for the first time (claim/expiry_rule.hpp). Null: at any time.
//   - No index has a column that a claim or a heartbeat writes, so both are HOT updates;
//     except dead_at on the last attempt, which takes the row out of the claim index.
//   - unique_key is null except for jobs of queue_unique_insert, and for occurrences of schedules
//     (claim/recurring.hpp); these have an index of their own.
//
// There are two layouts. The second, since 0.2, has five more columns, claimed_at, kind, errors, progress and origin, in
// the table and in the archive, in the table also released and expires_at, and an index of the dead jobs. queue_upgrade() adds them; without
// it the first stays as it is. The archive may have another layout than the table. It also has a column for results, which
// queue_upgrade() adds too.

#pragma once

#include "../postgres.hpp"

#include "definition.hpp"

namespace queue_ext::definition {

enum class Layout { first, second };

// The fragments of a managed queue whose table has that layout. In the current context.
Fragments managed_fragments(Layout layout);

// The state of a job at a moment: an SQL expression over the table "t" with one of these values. In
// the current context.
char *job_state(const char *moment);
constexpr const char *job_states[] = {"ready", "scheduled", "leased", "dead"};

// The highest max_attempts.
constexpr int max_attempts_limit = 1000000;

// The statements that create the tables, in the second layout, and indexes, for psprintf.
extern const char *const create_table_text;        // format: table, max_attempts
extern const char *const create_claim_index_text;  // format: table
extern const char *const create_unique_index_text; // format: table
extern const char *const create_dead_index_text;   // format: table
extern const char *const create_kind_index_text;   // format: table
extern const char *const create_expiry_index_text; // format: table
extern const char *const create_archive_text;      // format: table
// Those of an archive with slots (keep.hpp).
extern const char *const create_slotted_archive_text; // format: table
extern const char *const create_slot_text;            // format: slot, table, number
extern const char *const create_slots_index_text;     // format: table

// The columns that the queue's table and its archive share, whatever the layout of either.
extern const char *const archived_columns;

} // namespace queue_ext::definition
