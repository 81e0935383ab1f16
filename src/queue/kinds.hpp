// kinds.hpp - the argument "kinds" of the functions that claim jobs or wait for them.

#pragma once

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../claim/compiled_claim.hpp"
#include "../definition/definition.hpp"
#include "../definition/shape.hpp"
#include "../error.hpp"

namespace queue_ext::queue {

// Argument n, in the current context, whole; null: jobs of every kind. SQL objects of 0.1 have no such
// argument. Raises what ring::read_kinds() raises, and 2202E.
inline const ring::Kinds *
read_kinds(FunctionCallInfo fcinfo, int n)
{
	if (PG_NARGS() <= n || PG_ARGISNULL(n))
		return nullptr;
	(void) argument::required_array(fcinfo, n, "kinds");
	return ring::read_kinds(PG_GETARG_ARRAYTYPE_P_COPY(n));
}

// Raises 55000 where the call names kinds and the queue has none: it is attached, its table is one of
// 0.1, or lacks the index.
inline void
check_kinds(definition::Definition *definition, const claim::Request &request)
{
	if (request.kinds == nullptr)
		return;
	if (!definition->is_managed)
		error::not_managed(definition->name,
						   "Attach a queue for each kind, whose \"pending\" has the condition.");
	if (claim::compiled_claim_of(definition)->has_kinds)
		return;
	if (!definition::has_kind(definition->source))
		error::no_kinds(definition->name, definition->source_name);
	error::no_kind_index(definition->name, definition->source_name);
}

} // namespace queue_ext::queue
