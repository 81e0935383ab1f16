// finish_text.hpp - the statements by which a claim, or a job, ends (finish.hpp).

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::queue {

// What to do with a job. The first four need a good receipt.
enum class Action { complete, fail, release, extend, cancel, requeue };

// The statement of the action, of one job or of many, prepared on the first call. It is kept beside the definition, and differs by the
// rights of the caller. Needs SPI open. Raises what prepare() and compiling a claim raise, and what removal_text() does.
const statement::Statement &finish_statement(definition::Definition *definition, Action action,
											 bool is_many);

// The state in which the action has a job leave the queue, for the archive; null: the job stays.
const char *final_state_of(Action action);

// Returns the condition, on the row of "t" in its new version, by which a job of a managed queue that has failed
// is dead.
const char *died_text();

// Returns what queue_requeue writes.
const char *on_requeue(const definition::Definition *definition);

// A removal of the rows of "t" for which the fence holds.
struct Removal
{
	const char *tables; // those that the fence and the result refer to besides t; or null
	const char *fence;
	const char *final_state; // in the archive
	const char *result;      // in the archive, if that keeps results; null: none
	bool is_timed;           // it also returns claimed_at
	const char *told;        // and this (removed.hpp), or ""
};

// Returns the statement that takes the rows out of the queue: into the archive, or by deleting them.
// Raises 55000 if the archive does not exist any more.
const char *removal_text(const definition::Definition *definition, const Removal &removal);

} // namespace queue_ext::queue
