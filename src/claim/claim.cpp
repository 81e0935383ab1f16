// claim.cpp - see claim.hpp.

#include "../postgres.hpp"

#include "claim.hpp"

#include "direct.hpp"
#include "portable.hpp"

namespace queue_ext::claim {

uint64
claim(definition::Definition *definition, const Request &request, const Output &output)
{
	return can_claim_directly(definition) ? claim_direct(definition, request, output)
										  : claim_portable(definition, request, output);
}

} // namespace queue_ext::claim
