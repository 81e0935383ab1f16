// jobs.cpp - see jobs.hpp.

#include "../postgres.hpp"

#include "jobs.hpp"

#include "../definition/dead_queue.hpp"
#include "../definition/keep.hpp"
#include "../definition/shape.hpp"
#include "../interval.hpp"
#include "../row/rights.hpp"
#include "job_rows.hpp"

namespace queue_ext::health {

// The moment before which jobs should have been removed.
static TimestampTz
limit_of(const Subject &subject, const Interval &keep)
{
	return definition::cutoff_of(keep, subject.now()) -
		   Max(2 * definition::period_length(keep), patience_us());
}

// When the first was archived, of those that can be found without reading the archive. Without slots that
// is the job of the lowest id.
static TimestampTz
oldest_archived(const definition::Definition *definition)
{
	const Oid archive = definition->archive;
	TimestampTz oldest = DT_NOEND;
	if (!row::may_read_all(archive))
		return oldest;
	const List *tables = definition->has_slots ? find_inheritance_children(archive, NoLock)
											   : list_make1_oid(archive);
	ListCell *cell;
	foreach (cell, tables)
		with_unlocked(lfirst_oid(cell), RELKIND_RELATION,
					  [&](Relation table) { oldest = Min(oldest, oldest_finished(table)); });
	return oldest;
}

static void
tell(const Subject &subject, const char *what, TimestampTz since)
{
	subject.put({"keep_overdue", Severity::info,
				 psprintf("It still has jobs %s %s, which need not be kept: nobody calls "
						  "queue_maintain().",
						  what, moment_text(since)),
				 psprintf("CALL queue_maintain(%s);", quote_literal_cstr(subject.name))});
}

void
check_keep(const Subject &subject, Relation table)
{
	const definition::Definition *definition = subject.definition;
	if (definition->is_archived && definition->archive_name != nullptr &&
		!definition::is_for_ever(definition->archive_keep)) {
		const TimestampTz oldest = oldest_archived(definition);
		if (oldest < limit_of(subject, definition->archive_keep)) {
			tell(subject, "archived on", oldest);
			return;
		}
	}
	JobColumns columns;
	if (definition::is_for_ever(definition->dead_keep) || OidIsValid(definition->dead_queue) ||
		!subject.may_read || !find_job_columns(table, &columns))
		return;
	const Oid index = find_job_indexes(table, columns).dead;
	const TimestampTz oldest =
		OidIsValid(index) ? oldest_time(table, index, columns.dead_at) : DT_NOEND;
	if (oldest < limit_of(subject, definition->dead_keep))
		tell(subject, "that died on", oldest);
}

// A job that has been ready for longer than so many leases is old.
constexpr int most_leases = 10;

// The moment that many leases ago, as near as months and days allow. Their sum may be out of range.
static TimestampTz
leases_ago(TimestampTz now, const Interval *lease)
{
	const double length = static_cast<double>(end_of_interval(now, lease) - now) * most_leases;
	const double since_begin = static_cast<double>(now) - static_cast<double>(MIN_TIMESTAMP);
	return length < since_begin ? now - static_cast<int64>(length) : MIN_TIMESTAMP;
}

static const char *
duration_text(int64 us)
{
	constexpr int64 minute = SECS_PER_MINUTE;
	constexpr int64 hour = SECS_PER_HOUR;
	constexpr int64 day = SECS_PER_DAY;
	const int64 seconds = us / USECS_PER_SEC;
	if (seconds < 2 * minute)
		return psprintf(INT64_FORMAT " s", seconds);
	if (seconds < 2 * hour)
		return psprintf(INT64_FORMAT " min", seconds / minute);
	if (seconds < 2 * day)
		return psprintf(INT64_FORMAT " h", seconds / hour);
	return psprintf(INT64_FORMAT " days", seconds / day);
}

static void
check_age(const Subject &subject, TimestampTz oldest_at)
{
	if (oldest_at >= leases_ago(subject.now(), &subject.definition->lease))
		return;
	subject.put({"ready_job_old", Severity::warning,
				 psprintf("A job has been ready for %s, longer than %d leases%s.",
						  duration_text(subject.now() - oldest_at), most_leases,
						  subject.definition->is_paused ? "; the queue is paused" : ""),
				 subject.definition->is_paused
					 ? psprintf("SELECT queue_resume(%s);", quote_literal_cstr(subject.name))
					 : "Run more workers, or send less urgent jobs with a larger priority. A job "
					   "counts from its run_at, which is before the end of the transaction that "
					   "sent it."});
}

// Where rings are scarce, workers leave no trace.
static void
check_workers(const Subject &subject, TimestampTz there_at)
{
	if (subject.definition->is_paused || (subject.workers == nullptr && subject.all->is_full) ||
		(subject.workers != nullptr && subject.workers->waiting > 0))
		return;
	const TimestampTz came_at = subject.workers == nullptr ? PgStartTime : subject.workers->came_at;
	const TimestampTz since = Max(came_at, there_at);
	if (subject.now() - since < patience_us())
		return;
	subject.put({"no_worker", Severity::critical,
				 psprintf("Jobs are ready, and no worker has looked for one for %s.",
						  duration_text(subject.now() - since)),
				 "Start workers; they have ended, or hang."});
}

static void
tell_taken(const Subject &subject, TimestampTz oldest_at)
{
	subject.put(
		{"dead_jobs_taken", Severity::warning,
		 psprintf("Jobs that died in other queues are here, the first since %s.",
				  moment_text(oldest_at)),
		 psprintf("SELECT id, origin, last_error FROM %s ORDER BY id DESC LIMIT 100; then send "
				  "them again, or queue_cancel().",
				  subject.definition->source_name)});
}

static void
check_dead(const Subject &subject, const DeadJobs &jobs)
{
	if (jobs.dead == 0)
		return;
	subject.put(
		{"dead_jobs", Severity::warning,
		 psprintf("Dead jobs: %d%s; by the end of a lease, of workers that died or hung: %d. "
				  "The last died at %s.",
				  jobs.dead, jobs.is_more ? " or more" : "", jobs.by_lease,
				  moment_text(jobs.last_at)),
		 psprintf("SELECT id, last_error FROM %s WHERE dead_at <= now() ORDER BY dead_at DESC "
				  "LIMIT 100; then queue_requeue() or queue_cancel().",
				  subject.definition->source_name)});
}

// Where the head of the order is not all: more may hide behind leased jobs, and at larger priorities,
// so that what the statistics know counts, too. They do not see what plain SQL changes, until a
// worker comes, nor when a job was made, but when its queue was.
static HeadJobs
find_ready(const Subject &subject, Relation table, Oid index, const JobColumns &columns)
{
	HeadJobs found{DT_NOEND, DT_NOEND, false, false};
	if (OidIsValid(index))
		found = read_head(table, index, columns, subject.now());
	const Counted *counted = subject.counted;
	if (found.is_all || counted == nullptr || counted->oldest_at == DT_NOEND)
		return found;
	found.oldest_at = Min(found.oldest_at, counted->oldest_at);
	found.there_at = Min(found.there_at, Max(counted->oldest_at, counted->since));
	return found;
}

// Few are left out, since a worker may be killed now and then.
static void
check_leases(const Subject &subject)
{
	constexpr int64 few = 10;
	constexpr int64 one_in = 20;
	const Counted *counted = subject.counted;
	if (counted == nullptr || counted->expired < few ||
		counted->expired < counted->claimed / one_in)
		return;
	subject.put(
		{"leases_expire", Severity::warning,
		 psprintf(INT64_FORMAT " of " INT64_FORMAT " claims since %s were of jobs whose lease "
							   "had ended: workers die, or take longer than the lease.",
				  counted->expired, counted->claimed, moment_text(counted->since)),
		 psprintf("Send heartbeats by queue_extend(), or SELECT queue_alter(%s, lease => ...); "
				  "queue_stats_reset() counts anew.",
				  quote_literal_cstr(subject.name))});
}

// Why the dead queue takes no jobs, as a sentence; null: it does.
static const char *
fault_of_dead_queue(const Subject &subject)
{
	switch (definition::dead_queue_of(subject.definition)) {
		case definition::DeadQueue::none:
		case definition::DeadQueue::there:
			return nullptr;
		case definition::DeadQueue::gone:
			return "Its dead queue is no queue any more.";
		case definition::DeadQueue::foreign:
			return psprintf("Its dead queue %s has another owner.",
							subject.definition->dead_queue_name);
		case definition::DeadQueue::old:
			return psprintf("Its dead queue %s lacks the column \"origin\".",
							subject.definition->dead_queue_name);
	}
	pg_unreachable();
}

static void
tell_not_moved(const Subject &subject, const char *detail, const char *hint)
{
	subject.put({"dead_not_moved", Severity::warning, detail, hint});
}

void
check_dead_queue(const Subject &subject, Relation table)
{
	if (!OidIsValid(subject.definition->dead_queue))
		return;
	const char *name = quote_literal_cstr(subject.name);
	const char *fault = fault_of_dead_queue(subject);
	if (fault != nullptr) {
		tell_not_moved(subject, psprintf("%s Dead jobs stay where they are.", fault),
					   psprintf("SELECT queue_alter(%s, dead_queue => ...); '' for none.", name));
		return;
	}
	JobColumns columns;
	if (!subject.may_read || !find_job_columns(table, &columns))
		return;
	const Oid index = find_job_indexes(table, columns).dead;
	const TimestampTz oldest =
		OidIsValid(index) ? oldest_time(table, index, columns.dead_at) : DT_NOEND;
	if (oldest < subject.now() - patience_us())
		tell_not_moved(
			subject,
			psprintf("A job that died on %s is not in its dead queue: no worker comes, or "
					 "the job cannot be moved.",
					 moment_text(oldest)),
			psprintf("CALL queue_maintain(%s); which raises what is in the way.", name));
}

void
check_expiry(const Subject &subject, Relation table)
{
	JobColumns columns;
	if (subject.definition->on_expire == definition::OnExpire::none ||
		!find_job_columns(table, &columns) || columns.expires_at == InvalidAttrNumber)
		return;
	const char *name = quote_literal_cstr(subject.name);
	const Oid index = find_job_indexes(table, columns).expiry;
	if (!OidIsValid(index)) {
		subject.put({"expiry_index_missing", Severity::warning,
					 "No index has the jobs that expire: claims do not look for those that have, "
					 "and queue_maintain() reads all jobs.",
					 psprintf("SELECT queue_upgrade(%s);", name)});
		return;
	}
	const TimestampTz oldest =
		subject.may_read ? oldest_expired(table, index, columns, subject.now()) : DT_NOEND;
	if (oldest < subject.now() - patience_us())
		subject.put(
			{"expired_not_ended", Severity::warning,
			 psprintf("A job that has expired is still here since %s: %s, or the job cannot "
					  "be ended.",
					  moment_text(oldest),
					  subject.definition->is_paused ? "the queue is paused" : "no worker comes"),
			 psprintf("CALL queue_maintain(%s); which raises what is in the way.", name)});
}

void
check_jobs(const Subject &subject, Relation table, bool are_claims_noted)
{
	JobColumns columns;
	if (!find_job_columns(table, &columns))
		return;
	const JobIndexes indexes = find_job_indexes(table, columns);
	if (!OidIsValid(indexes.claim))
		subject.put(
			{"claim_index_missing", Severity::warning,
			 "No index has its order: each look for jobs reads and sorts all of them.",
			 psprintf("CREATE INDEX CONCURRENTLY ON %s (priority, run_at, id) WHERE dead_at "
					  "IS NULL;",
					  subject.definition->source_name)});
	const bool is_first = definition::layout_of(table) == definition::Layout::first;
	if (is_first || !OidIsValid(indexes.dead))
		subject.put(
			{"layout_old", Severity::info,
			 psprintf("Its table lacks %s: its dead jobs, and how long jobs run, are not told.",
					  is_first ? "columns of the present layout, or the index of dead jobs"
							   : "the index of dead jobs"),
			 psprintf("SELECT queue_upgrade(%s);", quote_literal_cstr(subject.name))});
	if (!subject.may_read)
		return;
	const HeadJobs ready = find_ready(subject, table, indexes.claim, columns);
	// No worker need take the jobs of a dead queue: they wait for somebody to look at them.
	if (ready.oldest_at != DT_NOEND && subject.takes_dead && ready.has_origin)
		tell_taken(subject, ready.oldest_at);
	else if (ready.oldest_at != DT_NOEND) {
		check_age(subject, ready.oldest_at);
		if (are_claims_noted)
			check_workers(subject, ready.there_at);
	}
	check_leases(subject);
	if (OidIsValid(indexes.dead))
		check_dead(subject, read_dead(table, indexes.dead, columns, subject.now()));
}

} // namespace queue_ext::health
