// looks.hpp - what claims see to from time to time, besides the jobs that they claim: in a queue that has something of the
// kind, each backend looks for that if it has not looked for a second, and for 20 times what the last look took. So a
// twentieth of a session's time goes into looks, at most. After one that has failed it pauses for a minute.
//
// Invariant: what hinders a look leaves all as it was before, and the claim as it is. A look waits for no lock.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../statement/subtransaction.hpp"
#include "claims_kept.hpp"

namespace queue_ext::claim {

// The rows of a batch.
constexpr int look_batch_size = 500;

// The jobs that a look tries, whoever has them locked.
constexpr int most_tried = 4 * look_batch_size;

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
	if (jobs == look_batch_size)
		return BatchResult::full;
	return jobs > 0 || definition->dependent.is_valid ? BatchResult::last : BatchResult::not_tried;
}

// The jobs that a look is for, rows "j".
struct Sought
{
	const char *moment; // the column that says when they became such; an index has it
	const char *among;  // " and" a condition that the index is searched with, or ""
	const char *others; // " and" a condition that no index serves, or ""
};

// Selects these columns of the jobs of a batch, and locks them, in the order of their moments: of those whose moment came first. For
// queue_maintain: of all that nobody has locked. For a look: of the first 2,000, whoever has those locked.
const char *select_all(const definition::Definition *definition, const Sought &sought,
					   const char *columns);
const char *select_first(const definition::Definition *definition, const Sought &sought,
						 const char *columns);

// The same in two steps. Selects those of the first 2,000, and locks none.
const char *select_tried(const definition::Definition *definition, const Sought &sought,
						 const char *columns);

// Selects and locks a batch of the jobs with these ids, an expression, whatever has become of them: with the columns, and
// whether they are still sought. A condition would leave a lock on one that does not meet it any more.
const char *lock_among(const definition::Definition *definition, const Sought &sought,
					   const char *ids, const char *columns);

// Locks a table and its children as a statement that inserts does, unless another session has one of them locked.
bool lock_if_free(Oid table);

// For the rest of the transaction, which has written nothing: has what may be deferred fire with its statement.
void defer_nothing();

// For the server's log: why the jobs of the queue stay as they are.
using LogHindrance = void (*)(const definition::Definition *definition, const ErrorData *cause);

// Whether an error leaves the jobs and the call as they are: a trigger, and the disk of a table, may raise anything. Not if
// somebody ends the call, or the transaction must be repeated.
bool is_hindrance(const ErrorData *error);

// Calls log(), unless it has been called for the table and such jobs within a minute.
void log_hindrance(const definition::Definition *definition, Look which, LogHindrance log,
				   const ErrorData *cause);

// Calls body() in a subtransaction. False if something hinders it, which is logged. Raises class 40, and what ends the call
// from outside: a cancel, a timeout.
template <typename Body>
bool
unless_hindered(const definition::Definition *definition, Look which, LogHindrance log, Body &&body)
{
	return statement::in_subtransaction(body, [&](const ErrorData *error) {
		if (!is_hindrance(error))
			return false;
		log_hindrance(definition, which, log, error);
		return true;
	});
}

// Whether it is time for a look, and this transaction may look. The pause of one that fails begins then.
bool begin_look(definition::Definition *definition, Look which, TimestampTz now);

// Has the pause begin that follows a look which began at that time.
void end_look(definition::Definition *definition, Look which, TimestampTz begin);

// Calls see_to_batch() if it is time. Raises what unless_hindered() raises.
template <typename SeeTo>
void
look_sometimes(definition::Definition *definition, Look which, TimestampTz now, LogHindrance log,
			   SeeTo &&see_to_batch)
{
	if (!begin_look(definition, which, now))
		return;
	const TimestampTz begin = GetCurrentTimestamp();
	if (unless_hindered(definition, which, log, see_to_batch))
		end_look(definition, which, begin);
}

} // namespace queue_ext::claim
