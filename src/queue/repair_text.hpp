// repair_text.hpp - the statements of the procedures that repair many jobs (repair.cpp).
//
// All of them name the queue's table "t", and have the parameters of statement/statement.hpp.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::queue {

// What becomes of the jobs for which a condition holds.
enum class Repair { requeue, cancel, erase, change };

// Compiles the condition, which the caller wrote, under the search path. It means the same as a
// queue's fragment, but as its caller reads it. Raises what compile() raises. The queue's table must
// be locked.
const char *compile_condition(const definition::Definition *definition, const char *condition,
							  const char *search_path);

// Returns the highest ID.
const char *highest_text(const definition::Definition *definition);

// Returns so many IDs at most behind Parameter::id, up to the highest, in their order, and whether the
// condition holds.
const char *window_text(const definition::Definition *definition, const char *condition,
						int64 highest, int rows);

// Repairs those of Parameter::ids, which ascend, for which the condition holds, and returns their
// IDs. Raises 55000 if the queue's archive does not exist any more.
const char *repair_text(const definition::Definition *definition, Repair repair,
						const char *condition, bool sets_priority, bool sets_run_at);

} // namespace queue_ext::queue
