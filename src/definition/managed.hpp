// managed.hpp - the table and the fragments of a queue made by queue_create.
//
// Invariants of the table:
//   - attempt counts the claims of a job and never falls: (id, attempt) names one
//     claim, for as long as commits last.
//   - leased_until and leased_by are set by a claim and cleared by what ends it.
//   - dead_at is when the job is, or will be, given up. The claim of the last
//     attempt sets it to the lease's end: should the worker die, the job is dead
//     then, and nobody need come by to say so.
//   - what a claim and a heartbeat write stands in no index, so both are HOT, but
//     for the last attempt's dead_at, which takes the row out of the claim index.
//   - unique_key is null but for jobs of queue_unique_insert, which has an index of its
//     own for them.

#pragma once

#include "../postgres.hpp"

#include "definition.hpp"

namespace queue_ext::definition {

// The fragments of every managed queue.
extern const Fragments managed_fragments;

// The state of a job at a moment: an SQL expression over the table "t", whose
// value is one of these.
char *job_state(const char *moment);
constexpr const char *job_states[] = {"ready", "scheduled", "leased", "dead"};

// The most attempts a job may be given.
constexpr int max_attempts_limit = 1000000;

// The statements that make the tables, for psprintf.
extern const char *const create_table_text;        // format: table, max_attempts
extern const char *const create_claim_index_text;  // format: table
extern const char *const create_unique_index_text; // format: table
extern const char *const create_archive_text;      // format: table

// The columns that the queue's table and its archive share.
extern const char *const archived_columns;

} // namespace queue_ext::definition
