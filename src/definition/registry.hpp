// registry.hpp - the table queue_definition: one row for each queue.
//
// Invariant: the registry is written by these functions only, past the executor and by its OID
// (row/own_row.hpp), after the caller's ownership of the queue's table has been checked; only the rows of dropped
// tables are removed without a check. Every write sends a relcache message about the queue's table, and one about the
// registry where a queue is added or removed, so that all backends forget what they have cached.
//
// A queue lives in the schema of its table, so its row has a name but no schema: ALTER TABLE ...
// SET SCHEMA moves the queue. A row whose table has been dropped is no queue; it is removed when
// the next queue is made.
//
// A writer locks the registry ROW EXCLUSIVE, as any writer of a table, so a change of one queue
// does not block a change of another. Writers of one queue exclude each other by a lock on its
// name, or on the queues of its table (locktype "object").

#pragma once

#include "../postgres.hpp"

#include "definition.hpp"
#include "name.hpp"

namespace queue_ext::definition {

// The table of the queue, or InvalidOid: in the name's schema, else in the first schema of the
// search path that has such a queue. Raises 42P09 when the schema has two. Locks the registry
// ACCESS SHARE while it reads, as do all functions below that read it. Records dependencies of the
// answer if "dependent" is not null.
Oid find_source(const Name &name, const char *text, catalog::Dependent *dependent);

// The name of the only queue of the table, in the current context; null when there is none. Raises
// 42725 when there are more. Records dependencies of the answer if "dependent" is not null.
char *find_only_name(Oid source, catalog::Dependent *dependent);

// The name of the managed queue of the table, in the current context, or null.
char *find_managed_name(Oid source);

// The names of all queues of the table, as char *, in the current context.
List *find_names(Oid source);

// A row of the registry, whose table may have been dropped.
struct Registered
{
	char *name;
	Oid source;
	bool is_managed;
	Oid dead_queue; // InvalidOid: none
};

// All rows, as Registered *, in the current context. Reads the whole registry.
List *find_all();

// Whether the table has a queue of another name.
bool has_other_queue(Oid source, const char *name);

// Whether the definition's archive belongs to its queue alone, and has the owner of its table: a
// restored registry may name another queue's archive. Reads the whole registry.
bool has_own_archive(const Definition *definition);

// Copies the registry row of (source, name) into *definition, with its strings in the context.
// False when there is none.
bool read_definition(Oid source, const char *name, MemoryContext context, Definition *definition);

// Locks the queues of the table against other writers until the end of the transaction. The caller
// must own the table. To be taken before any lock on the table that may be waited for.
void lock_queues_of(Oid source);

// Locks the queue's name in the schema against other writers until the end of the transaction. The
// caller must be allowed to make or drop a queue there. To be taken after lock_queues_of().
void lock_name_in(Oid schema, const char *name);

// Whether the relation does not exist. A snapshot that shows a registry row may be newer than the
// syscache, so if the syscache does not have the relation, pg_class is read with the latest
// snapshot.
bool is_dropped(Oid relation);

// What a writer may change; a null pointer leaves the column as it is.
struct Options
{
	const Interval *lease;
	const Interval *backoff_base;
	const Interval *backoff_cap;
	const int32 *max_attempts;
	const bool *is_paused;
	const bool *is_archived;
	const Oid *archive;
	const char *on_claim;
	const char *on_release;
	AgeColumns ages;              // an empty name: none
	const Interval *archive_keep; // of finished jobs; zero: for ever
	const Interval *dead_keep;    // of dead jobs; zero: for ever
	const Oid *dead_queue;        // the table of the queue that takes them; InvalidOid: none
	const OnExpire *on_expire;
};

// A queue to be added to the registry.
struct NewQueue
{
	const char *name;
	Oid source;
	bool is_managed;
	const char *claim_mode;
	Fragments fragments;
	const char *search_path;
};

// The claim mode of that name. Raises 22023 when there is none.
ClaimMode claim_mode_of(const char *name);

// What becomes of jobs that expire, of that name; none if it is null or empty. Raises 22023 when there is none of that name.
OnExpire on_expire_of(const char *name);

// Its name; null: none.
const char *name_of(OnExpire on_expire);

// Adds a queue. Its name and its table's queues must be locked. Also removes the rows of tables
// that have been dropped, except those that another transaction has locked.
void insert_definition(const NewQueue &queue, const Options &options);

// Changes the row of (source, name). The table's queues must be locked.
void update_definition(const char *name, Oid source, const Options &options);

// Removes the row of (source, name). Its name and its table's queues must be locked.
void delete_definition(const char *name, Oid source);

} // namespace queue_ext::definition
