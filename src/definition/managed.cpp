// managed.cpp - see managed.hpp.

#include "../postgres.hpp"

#include "managed.hpp"

namespace queue_ext::definition {

static constexpr Fragments first_fragments = {
	// pending
	"dead_at is null and run_at <= call_time"
	" and (leased_until is null or leased_until <= call_time)",
	// order_by
	"priority, run_at, id",
	// on_claim
	"attempt = attempt + 1, leased_until = call_time + lease, leased_by = worker,"
	" dead_at = case when attempt + 1 >= max_attempts then call_time + lease end",
	// on_complete: the row is deleted
	nullptr,
	// on_release: attempt is the fence and cannot go back, so the limit goes up
	"max_attempts = case when max_attempts < 2147483647 then max_attempts + 1"
	" else max_attempts end, leased_until = null, leased_by = null, dead_at = null,"
	" run_at = coalesce(retry_at, run_at)",
	// on_fail
	"last_error = error, leased_until = null, leased_by = null,"
	" run_at = case when attempt < max_attempts and retry then retry_at else run_at end,"
	" dead_at = case when attempt >= max_attempts or not retry then call_time end",
	// on_extend
	"leased_until = call_time + lease,"
	" dead_at = case when dead_at is not null then call_time + lease end",
};

// A failure is added to those that are kept, the oldest of ten leaving. Lax paths take what an owner has put there for what
// it is: an array shorter or longer than ten, or something else, as an element.
static constexpr const char *add_error =
	"errors = coalesce(jsonb_path_query_array(errors, '$[last - 8 to last]'), '[]')"
	" || jsonb_build_object('attempt', attempt,"
	" 'at', to_char(call_time at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'),"
	" 'worker', \"left\"(leased_by, 200), 'error', \"left\"(error, 2000))";

// A claim of the second layout says when it was made, too. Nothing else writes claimed_at. A release is counted, so that
// the backoff can follow what has failed; a failure is kept, and so is what a worker reports.
Fragments
managed_fragments(Layout layout)
{
	Fragments fragments = first_fragments;
	if (layout == Layout::second) {
		fragments.on_claim = psprintf("%s, claimed_at = call_time", first_fragments.on_claim);
		fragments.on_release =
			psprintf("%s, released = least(coalesce(released, 0), 2147483646) + 1",
					 first_fragments.on_release);
		fragments.on_fail = psprintf("%s, %s", first_fragments.on_fail, add_error);
		fragments.on_extend =
			psprintf("%s, progress = coalesce(new_progress, progress)", first_fragments.on_extend);
	}
	return fragments;
}

// Computed from the columns and the clock: no state is stored (design.md).
char *
job_state(const char *moment)
{
	return psprintf("case when t.dead_at operator(pg_catalog.<=) %s then 'dead'"
					" when t.leased_until operator(pg_catalog.>) %s then 'leased'"
					" when t.run_at operator(pg_catalog.>) %s then 'scheduled'"
					" else 'ready' end",
					moment, moment, moment);
}

// Fixed-width columns first: no padding between them. Pages keep room for the row versions that
// claims write. VACUUM comes early and without delays, but never truncates the table, which would
// need an ACCESS EXCLUSIVE lock.
const char *const create_table_text =
	"create table %s ("
	" id pg_catalog.int8 generated always as identity primary key,"
	" run_at pg_catalog.timestamptz not null default pg_catalog.now(),"
	" created_at pg_catalog.timestamptz not null default pg_catalog.now(),"
	" leased_until pg_catalog.timestamptz,"
	" dead_at pg_catalog.timestamptz,"
	" claimed_at pg_catalog.timestamptz,"
	" expires_at pg_catalog.timestamptz,"
	" attempt pg_catalog.int4 not null default 0,"
	" max_attempts pg_catalog.int4 not null default %d"
	"  check (max_attempts operator(pg_catalog.>=) 1),"
	" priority pg_catalog.int2 not null default 0,"
	" leased_by pg_catalog.text,"
	" last_error pg_catalog.text,"
	" payload pg_catalog.jsonb not null,"
	" unique_key pg_catalog.text collate pg_catalog.\"C\","
	" kind pg_catalog.text collate pg_catalog.\"C\","
	" released pg_catalog.int4,"
	" errors pg_catalog.jsonb,"
	" progress pg_catalog.jsonb,"
	" origin pg_catalog.jsonb"
	") with (fillfactor = 45,"
	" autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,"
	" autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_analyze_scale_factor = 0.1,"
	" autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off,"
	" toast.autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_threshold = 1000,"
	" toast.autovacuum_vacuum_cost_delay = 0, toast.vacuum_truncate = off)";

// The columns are the order of managed_fragments; dead_at, in the predicate, is the only column
// that a claim may write.
const char *const create_claim_index_text =
	"create index on %s (priority, run_at, id) where dead_at is null";

const char *const create_unique_index_text =
	"create index on %s (unique_key) where unique_key is not null";

// Dead jobs, and those that become dead when their lease ends. The claim of a last attempt is no HOT
// update anyway, as it takes the row out of the claim index.
const char *const create_dead_index_text = "create index on %s (dead_at) where dead_at is not null";

// Not made unless asked for: each job costs an entry more.
const char *const create_kind_index_text =
	"create index on %s (kind, priority, run_at, id) where dead_at is null";

// Not made unless asked for, either, and has jobs that expire alone. Dead ones would stand in front for ever.
const char *const create_expiry_index_text =
	"create index on %s (expires_at, id) where expires_at is not null and dead_at is null";

// Named like the columns of the queue's table, so that archived_columns() fits both.
const char *const create_archive_text = "create table %s ("
										" id pg_catalog.int8 primary key,"
										" run_at pg_catalog.timestamptz not null,"
										" created_at pg_catalog.timestamptz not null,"
										" finished_at pg_catalog.timestamptz not null,"
										" claimed_at pg_catalog.timestamptz,"
										" attempt pg_catalog.int4 not null,"
										" max_attempts pg_catalog.int4 not null,"
										" priority pg_catalog.int2 not null,"
										" state pg_catalog.text not null,"
										" leased_by pg_catalog.text,"
										" last_error pg_catalog.text,"
										" payload pg_catalog.jsonb not null,"
										" kind pg_catalog.text collate pg_catalog.\"C\","
										" result pg_catalog.jsonb,"
										" errors pg_catalog.jsonb,"
										" progress pg_catalog.jsonb,"
										" origin pg_catalog.jsonb)";

// The greatest and the least finished_at of a slot are read often. An index whose keys only grow costs an
// insert little.
const char *const create_slotted_archive_text = "create table %s ("
												" id pg_catalog.int8 not null,"
												" run_at pg_catalog.timestamptz not null,"
												" created_at pg_catalog.timestamptz not null,"
												" finished_at pg_catalog.timestamptz not null,"
												" claimed_at pg_catalog.timestamptz,"
												" attempt pg_catalog.int4 not null,"
												" max_attempts pg_catalog.int4 not null,"
												" slot pg_catalog.int2 not null,"
												" priority pg_catalog.int2 not null,"
												" state pg_catalog.text not null,"
												" leased_by pg_catalog.text,"
												" last_error pg_catalog.text,"
												" payload pg_catalog.jsonb not null,"
												" kind pg_catalog.text collate pg_catalog.\"C\","
												" result pg_catalog.jsonb,"
												" errors pg_catalog.jsonb,"
												" progress pg_catalog.jsonb,"
												" origin pg_catalog.jsonb,"
												" primary key (id, slot)) partition by list (slot)";
const char *const create_slot_text = "create table %s partition of %s for values in (%d)";
const char *const create_slots_index_text = "create index on %s (finished_at)";

const char *const archived_columns =
	"id, run_at, created_at, attempt, max_attempts, priority, leased_by, last_error, payload";

} // namespace queue_ext::definition
