// looks.hpp - what claims see to from time to time, besides the jobs that they claim: each backend looks for that once a
// second in a queue that has something of the kind, and less often after a look that has failed.
//
// Invariant: what hinders a look leaves all as it was before, and the claim as it is.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../statement/subtransaction.hpp"
#include "claims_kept.hpp"

namespace queue_ext::claim {

// The rows of a batch.
constexpr int look_batch_size = 500;

// For the server's log: why the jobs of the queue stay as they are.
using LogHindrance = void (*)(const char *queue, const ErrorData *cause);

// Whether an error leaves the jobs and the call as they are: none that ends the transaction or the call, and no bug.
bool is_hindrance(const ErrorData *error);

// Whether it is time for a look, and this transaction may look. The next one comes after a pause then.
bool take_look(definition::Definition *definition, Look which, TimestampTz now);

// Has the next look come later, as this one was hindered, or at once, as there may be more.
void put_off(definition::Definition *definition, Look which, TimestampTz now);
void look_again(definition::Definition *definition, Look which);

// Calls body() in a subtransaction. False if something hinders it, which is logged.
template <typename Body>
bool
unless_hindered(const definition::Definition *definition, LogHindrance log, Body &&body)
{
	return statement::in_subtransaction(body, [&](const ErrorData *error) {
		if (!is_hindrance(error))
			return false;
		log(definition->name, error);
		return true;
	});
}

// Calls see_to_batch() if it is time, which returns how many rows it has seen to.
template <typename SeeTo>
void
look_sometimes(definition::Definition *definition, Look which, TimestampTz now, LogHindrance log,
			   SeeTo &&see_to_batch)
{
	if (!take_look(definition, which, now))
		return;
	int64 rows = 0;
	if (!unless_hindered(definition, log, [&] { rows = see_to_batch(); }))
		put_off(definition, which, now);
	else if (rows == look_batch_size)
		look_again(definition, which);
}

} // namespace queue_ext::claim
