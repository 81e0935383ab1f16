// registry.hpp - the table queue_definition: one row a queue.
//
// Invariant: the registry is written through these functions only, as the owner
// of the extension, after the caller's ownership of the queue's table has been
// checked; and every write makes every backend forget what it knew of the queue: by a
// message about the queue's table, and where a name comes or goes one about the registry.
//
// A queue lives in the schema of its table, so a row says its name but not its
// schema: ALTER TABLE ... SET SCHEMA takes the queue along. A row whose table has
// been dropped is no queue; it is swept away when the next queue is made.
//
// A writer has no lock on the registry but ROW EXCLUSIVE, as any writer of a table: so who
// changes one queue keeps nobody from changing another. What must be alone is alone by a
// lock on the name of a queue, or on the queues of one table (locktype "object").

#pragma once

#include "../postgres.hpp"

#include "definition.hpp"
#include "name.hpp"

namespace queue_ext::definition {

// Finds the table of the queue, or InvalidOid: in the schema the name gives, else in the first
// schema of the search path that has one. Raises 42P09 when the schema has two.
// Takes ACCESS SHARE on the registry, as all that follow. The dependent, if any, is told
// what the answer depends on.
Oid find_source(const Name &name, const char *text, catalog::Dependent *dependent);

// The name of the one queue that the table carries, in the current context, or
// null when there is none. Raises 42725 when there are more. The dependent is told likewise.
char *find_only_name(Oid source, catalog::Dependent *dependent);

// The name of the managed queue whose table it is, in the current context, or null.
char *find_managed_name(Oid source);

// Whether the table carries a queue.
bool has_queue(Oid source);

// The names of all queues that the table carries, as char *, in the current context.
List *find_names(Oid source);

// Whether the table carries a queue of another name.
bool has_other_queue(Oid source, const char *name);

// Copies the registry row of (source, name) into *definition, and what it points to into
// the context. False when there is none. Takes ACCESS SHARE on the registry.
bool read_definition(Oid source, const char *name, MemoryContext context, Definition *definition);

// Keeps others from changing the queues of the table, until the end of the transaction.
// For the table's owner; to be taken before any lock on the table that may be waited for.
void lock_queues_of(Oid source);

// Keeps others from making or dropping a queue of that name in the schema, likewise. For
// callers who may make or drop one there; to be taken after the other.
void lock_name_in(Oid schema, const char *name);

// Whether the relation does not exist any more. What the caches know may be older than a
// snapshot that shows a row that names it: so where they do not know it, the catalog is asked
// as it is committed now.
bool is_dropped(Oid relation);

// What a writer may change; null pointers leave a column as it is.
struct Options
{
	const Interval *lease;
	const Interval *backoff_base;
	const Interval *backoff_cap;
	const int32 *max_attempts;
	const bool *is_paused;
	const bool *is_archived;
	const Oid *archive;
};

// A queue to be added.
struct NewQueue
{
	const char *name;
	Oid source;
	bool is_managed;
	const char *claim_mode;
	Fragments fragments;
	const char *search_path;
};

// The claim mode of that name; raises 22023 when there is none such.
ClaimMode claim_mode_of(const char *name);

// Adds a queue. Its name and its table's queues must be locked. Removes the rows of
// tables that have been dropped, as far as that is possible without waiting.
void insert_definition(const NewQueue &queue, const Options &options);

// Changes the row of (source, name). The table's queues must be locked.
void update_definition(const char *name, Oid source, const Options &options);

// Removes the row of (source, name). Its name and its table's queues must be locked.
void delete_definition(const char *name, Oid source);

} // namespace queue_ext::definition
