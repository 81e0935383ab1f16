// ticket.cpp - caller_ticket and redeem_ticket: which role called, told to a function that runs with its owner's
// rights.
//
// Some functions of scaleout/ open connections with their owner's rights, in the name of the role that
// called. They cannot see that role: session_user and the setting "role" are of the session, also where a
// function of another role is in between. So the public function, which runs with its caller's rights,
// takes a ticket, and its helper redeems it.
//
// Invariant: a ticket stands for the role that was current when it was taken. Only the last one of a
// session can be redeemed, once, and its number cannot be guessed.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../error.hpp"

namespace queue_ext::scaleout {

static struct
{
	int64 number;
	Oid role; // InvalidOid: there is none
} last_ticket;

QUEUE_EXT_FUNCTION(queue_ext_caller_ticket);
QUEUE_EXT_FUNCTION(queue_ext_redeem_ticket);

// Raises XX000 if there are no random numbers.
Datum
queue_ext_caller_ticket(PG_FUNCTION_ARGS)
{
	(void) fcinfo;
	last_ticket.role = InvalidOid;
	if (!pg_strong_random(&last_ticket.number, sizeof(last_ticket.number)))
		elog(ERROR, "could not generate a random number");
	last_ticket.role = GetUserId();
	PG_RETURN_INT64(last_ticket.number);
}

// The name of the role that took the ticket. Raises 42501 for any number that is not of the last ticket.
Datum
queue_ext_redeem_ticket(PG_FUNCTION_ARGS)
{
	const int64 number = argument::required_int64(fcinfo, 0, "_ticket");
	const Oid role = last_ticket.role;
	last_ticket.role = InvalidOid;
	if (!OidIsValid(role) || number != last_ticket.number)
		error::invalid_ticket();
	PG_RETURN_TEXT_P(cstring_to_text(GetUserNameFromId(role, false)));
}

} // namespace queue_ext::scaleout
