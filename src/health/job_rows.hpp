// job_rows.hpp - reads the first entries of a managed queue's indexes, for queue_health().
//
// Reads so many entries of an index and no more, whatever they lead to: an answer may be incomplete,
// and costs the same in a table of any size.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::health {

// Calls body(Relation) for another relation of a queue than its table, an index or the archive, locked ACCESS SHARE
// meanwhile. Does nothing if another session has it locked ACCESS
// EXCLUSIVE, or if it is of another kind, or gone.
template <typename Body>
void
with_unlocked(Oid oid, char kind, Body &&body)
{
	if (!ConditionalLockRelationOid(oid, AccessShareLock))
		return;
	Relation relation = try_relation_open(oid, NoLock);
	if (relation != nullptr) {
		if (relation->rd_rel->relkind == kind)
			body(relation);
		relation_close(relation, NoLock);
	}
	UnlockRelationOid(oid, AccessShareLock);
}

// Enough to see a trouble; each costs a look at a row, on a page of its own if it comes to the worst.
constexpr int most_entries = 20;
// Of jobs that expire so many more, as those that were started in time stand among the others.
constexpr int most_entries_of_expiry = 2000;

// The columns of the table that are read.
struct JobColumns
{
	AttrNumber id;
	AttrNumber run_at;
	AttrNumber leased_until;
	AttrNumber dead_at;
	AttrNumber priority;
	AttrNumber created_at;
	AttrNumber attempt;
	AttrNumber origin; // these are InvalidAttrNumber in a table of 0.1
	AttrNumber expires_at;
	AttrNumber released;
	AttrNumber unique_key;
};

// False if the table lacks one, or one has another type.
bool find_job_columns(Relation table, JobColumns *columns);

// The indexes of the table that are read; InvalidOid where there is none that can be trusted.
struct JobIndexes
{
	Oid claim;  // of jobs that are not dead, in the order of claims
	Oid dead;   // of dead jobs
	Oid expiry; // of jobs that expire and are not dead
};

// Locks each index that it looks at ACCESS SHARE meanwhile.
JobIndexes find_job_indexes(Relation table, const JobColumns &columns);

// The primary key of a queue's table, its archive or one of the slots of that, and its first column;
// InvalidOid unless that is the id.
Oid find_id_index(Relation table, AttrNumber *column);

// Of the jobs at the head of the order. A job that has always been ready counts from when it was made.
struct HeadJobs
{
	TimestampTz oldest_at; // since when the oldest that is ready has been so; DT_NOEND: none is
	TimestampTz there_at;  // as oldest_at, but for the time before a job was made
	bool is_all;           // there are no more jobs than these
	bool has_origin;       // the first that is ready died in another queue
};

// Of the jobs that died last.
struct DeadJobs
{
	int dead;
	int by_lease;        // of them, those whose last lease has ended without a word
	TimestampTz last_at; // when the last one died
	bool is_more;        // there may be more
};

// The table and the index must be locked.
HeadJobs read_head(Relation table, Oid index, const JobColumns &columns, TimestampTz now);
DeadJobs read_dead(Relation table, Oid index, const JobColumns &columns, TimestampTz now);

// The time in the column of the first row of the index, dead entries not counted: the lowest where the index
// begins with that column. DT_NOEND: none was found.
TimestampTz oldest_time(Relation table, Oid index, AttrNumber column);

// Since when a job has been there that has expired, of the first ones in the index of those, and that no worker has started;
// DT_NOEND: none was found.
TimestampTz oldest_expired(Relation table, Oid index, const JobColumns &columns, TimestampTz now);

// The lowest finished_at of an archive that has an index of that, as slots have; else that of the lowest
// id. DT_NOEND: none was found. Locks each index that it looks at ACCESS SHARE meanwhile.
TimestampTz oldest_finished(Relation archive);

// The greatest id in the index, dead entries not counted; 0: none was found.
int64 greatest_id(Relation table, Oid index, AttrNumber column);

} // namespace queue_ext::health
