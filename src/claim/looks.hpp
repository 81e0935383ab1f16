// looks.hpp - what claims see to from time to time, besides the jobs that they claim: in a queue that has something of the
// kind, each backend looks for that if it has not looked for a second, and for 20 times what the last look took. So a
// twentieth of a session's time goes into looks, at most. After one that has failed it pauses for a minute.
//
// Invariant: what hinders a look leaves all as it was before, and the claim as it is. A look waits for no lock on a row, nor on
// the tables that it names, and for a tenth of a second at most for what foreign keys and triggers lock.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../statement/search_path.hpp"
#include "../statement/statement.hpp"
#include "../statement/subtransaction.hpp"
#include "as_owner.hpp"
#include "claims_kept.hpp"

namespace queue_ext::claim {

// The rows of a batch.
constexpr int look_batch_size = 500;

// The jobs that a look reads, whoever has them locked.
constexpr int most_read = 4 * look_batch_size;

// What came of a batch.
enum class BatchResult {
	full, // there may be more
	last,
	not_tried, // the tables have changed meanwhile
};

// That of a batch of so many jobs.
inline BatchResult
batch_of(const definition::Definition *definition, int64 jobs)
{
	if (jobs >= look_batch_size)
		return BatchResult::full;
	return jobs > 0 || definition->dependent.is_valid ? BatchResult::last : BatchResult::not_tried;
}

// The jobs that a look is for, rows "j". The index has those of the first two conditions, in that order.
struct Sought
{
	const char *moment; // the column that says when they became such
	const char *order;  // the columns of the index, the first of which is that
	const char *among;  // a condition, or null
	const char *others; // one that no index serves, or null
};

// Finds and locks a batch, for queue_maintain: those that come first of all that nobody has locked. Selects these columns.
const char *select_all(const definition::Definition *definition, const Sought &sought,
					   const char *columns);

// The same in two steps, for a look, which leaves no lock where there is nothing to do. Reads those that come first, whoever
// has them locked, and whether they meet the last condition or not: so it reads no more than some. find_as_owner() runs it.
const char *select_first(const definition::Definition *definition, const Sought &sought);

// Locks a batch of the jobs of Parameter::ids, whatever has become of them: with whether they are still sought. A condition
// would leave a lock on one that does not meet it any more. lock_sought() runs it.
const char *lock_among(const definition::Definition *definition, const Sought &sought);

// A job's place in the order of their moments.
struct JobPlace
{
	TimestampTz moment;
	int64 id;
};

// What comes before all of them.
constexpr JobPlace before_all{DT_NOBEGIN, PG_INT64_MIN};

// The same, for batches that come in that order. Others may come in any order of equal moments, which an index on the moment
// alone has: then no place parts those that were found from the rest.
constexpr JobPlace before_all_in_order{DT_NOBEGIN, PG_INT64_MIN + 1};

// A condition, of rows "j": they are behind a place in the order of that column, their moment, and of their ids. set_place()
// sets the parameters that have the place.
const char *behind_text(const char *moment);
void set_place(const JobPlace &place, statement::Arguments *arguments);

inline bool
is_same(const JobPlace &left, const JobPlace &right)
{
	return left.moment == right.moment && left.id == right.id;
}

// What looks and queue_maintain() of this backend keep of a table; Entry has the table's OID as its first member. Not beside definitions, which are
// made anew at any time; so it grows with the queues. *is_found: it was there.
template <typename Entry>
Entry *
kept_of(HTAB **entries, const char *name, Oid source, bool *is_found)
{
	if (*entries == nullptr) {
		HASHCTL control{};
		control.keysize = sizeof(Oid);
		control.entrysize = sizeof(Entry);
		*entries = hash_create(name, 16, &control, HASH_ELEM | HASH_BLOBS);
	}
	return static_cast<Entry *>(hash_search(*entries, &source, HASH_ENTER, is_found));
}

// The jobs that a statement has found.
struct FoundBatch
{
	int read;
	JobPlace last_read;
	int count;     // of those that are sought
	JobPlace last; // of these, or of the first batch of these
	Datum ids;
	bool is_full; // there may be more than were locked
};

// Of the rows that the last statement has returned: an id, a moment, and whether it is sought if it says that. In the
// current memory context.
FoundBatch found_jobs(uint64 rows);

// Runs what select_first() makes, as the owner of the table: which needs no more than to read it. statement(): that, prepared.
template <typename StatementOf>
FoundBatch
find_as_owner(Oid source, const statement::Arguments &arguments, StatementOf &&statement)
{
	const MemoryContext context = CurrentMemoryContext;
	const TableAccess access{source, ACL_SELECT, 0};
	FoundBatch found{};
	as_owner(&access, 1, Manner::plain, [&](Runner) {
		statement::with_spi([&] {
			const uint64 rows = run_newest(statement(), arguments);
			// SPI frees what is made in its own.
			MemoryContext spi = MemoryContextSwitchTo(context);
			found = found_jobs(rows);
			MemoryContextSwitchTo(spi);
		});
	});
	return found;
}

// Runs what lock_among() makes, for the ids of the arguments, some of whose rows may have changed since they were found: these
// get no lock, which would last until the worker's end, but where rows have changed again and again, or have equal
// ids. Needs SPI open.
FoundBatch lock_sought(const statement::Statement &statement, statement::Arguments arguments);

// The text of a statement that finds a job of the queue, a row "s", that meets the condition and that no other session has locked: one
// that was to leave has stayed. To count those that were to leave is not enough: of children's rows with equal ids, others may have had one
// in hand.
const char *stays_text(const definition::Definition *definition, const char *condition);

// Locks a table and its children as a statement that inserts does, unless another session has one of them locked: some
// of them may be locked then.
bool lock_if_free(Oid table);

// The same of the archive, but of its slots the one alone that takes what is archived at that time, if it has slots. *slot:
// that, or InvalidOid. waits: it waits for the archive, and leaves the slot to the statement that writes it.
bool lock_archive(const definition::Definition *definition, TimestampTz now, bool waits, Oid *slot);

// For the rest of the transaction, which has written nothing: has what may be deferred fire with its statement.
void defer_nothing();

// For the server's log: why the jobs of the queue stay as they are.
using LogHindrance = void (*)(const definition::Definition *definition, const ErrorData *cause);

// Whether an error leaves the jobs and the call as they are: a trigger, and the disk of a table, may raise anything. Not if
// somebody ends the call, or the transaction must be repeated.
bool is_hindrance(const ErrorData *error);

// Calls log(), unless it has been called for the table and such jobs within a minute.
void log_hindrance(const definition::Definition *definition, LookKind which, LogHindrance log,
				   const ErrorData *cause);

// Sets lock_timeout until the current GUC nest level ends, unless it is shorter.
void wait_briefly();

// Calls body() in a subtransaction, where locks are waited for briefly. False if something hinders it, which is logged. Raises
// class 40, and what ends the call from outside: a cancel, a timeout.
template <typename Body>
bool
unless_hindered(const definition::Definition *definition, LookKind which, LogHindrance log,
				Body &&body)
{
	return statement::in_subtransaction(
		[&] {
			const int level = NewGUCNestLevel();
			wait_briefly();
			body();
			AtEOXact_GUC(true, level);
		},
		[&](const ErrorData *error) {
			if (!is_hindrance(error))
				return false;
			log_hindrance(definition, which, log, error);
			return true;
		});
}

// Whether it is time for a look, and this transaction may look at the queue's table. The pause of one that fails begins then.
bool start_look(definition::Definition *definition, LookKind which, TimestampTz now);

// Has the pause begin that follows a look which began at that time.
void close_look(definition::Definition *definition, LookKind which, TimestampTz begin);

// Calls see_to_batch() if it is time; returns whether it was. Raises what unless_hindered() raises.
template <typename SeeTo>
bool
look_sometimes(definition::Definition *definition, LookKind which, TimestampTz now,
			   LogHindrance log, SeeTo &&see_to_batch)
{
	if (!start_look(definition, which, now))
		return false;
	const TimestampTz begin = GetCurrentTimestamp();
	if (unless_hindered(definition, which, log, see_to_batch))
		close_look(definition, which, begin);
	return true;
}

} // namespace queue_ext::claim
