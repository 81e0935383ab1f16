// jobs.hpp - findings about a managed queue's jobs, and about those that it need not keep any longer.

#pragma once

#include "../postgres.hpp"

#include "subject.hpp"

namespace queue_ext::health {

// keep_overdue.
void check_keep(const Subject &subject, Relation table);

// claim_index_missing, layout_old, ready_job_old, no_worker, leases_expire, dead_jobs, and dead_jobs_taken for a dead queue
// without workers, instead of ready_job_old and no_worker. The last five only where the caller may read the table, and
// no_worker only if all claims are noted in a ring.
void check_jobs(const Subject &subject, Relation table, bool are_claims_noted);

// expiry_index_missing, expired_not_ended. The last only where the caller may read the table.
void check_expiry(const Subject &subject, Relation table);

// dead_not_moved. The dead jobs only where the caller may read the table.
void check_dead_queue(const Subject &subject, Relation table);

} // namespace queue_ext::health
