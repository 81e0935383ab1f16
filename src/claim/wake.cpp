// wake.cpp - see wake.hpp.

#include "../postgres.hpp"

#include "wake.hpp"

#include "compiled_claim.hpp"
#include "transaction_callbacks.hpp"

namespace queue_ext::claim {

// note_writes() is for a rollback: while the row was locked, claims may have passed it by.
void
note_given_back(definition::Definition *definition, TimestampTz due)
{
	if (definition->is_managed && compiled_claim_of(definition)->has_wake_trigger)
		return; // the trigger has fired
	note_writes(definition->source);
	if (due == 0)
		note_wake(definition->source);
	else
		note_due(definition->source, due);
}

} // namespace queue_ext::claim
