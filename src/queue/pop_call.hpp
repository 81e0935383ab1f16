// pop_call.hpp - what the functions have in common that claim jobs or wait for them: arguments, the columns of the
// result.

#pragma once

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../claim/compiled_claim.hpp"
#include "../compat.hpp"
#include "../definition/definition.hpp"
#include "../definition/queue_indexes.hpp"
#include "../definition/shape.hpp"
#include "../error.hpp"

namespace queue_ext::queue {

// The upper limit of max_jobs (22023).
constexpr int max_jobs_limit = 10000;

// Reads arguments n to n + 2 of a pop: max_jobs, lease, worker. Raises 22004, 22023.
inline claim::Request
read_pop(FunctionCallInfo fcinfo, int n)
{
	claim::Request request{};
	request.call_time = GetCurrentTimestamp();
	request.max_jobs = argument::required_int32(fcinfo, n, "max_jobs");
	error::check_range("max_jobs", request.max_jobs, 1, max_jobs_limit);
	request.lease = argument::optional_positive(fcinfo, n + 1, "lease");
	request.worker = PG_ARGISNULL(n + 2) ? nullptr : PG_GETARG_TEXT_PP(n + 2);
	return request;
}

// Argument n, in the current context, whole; null: jobs of every kind. SQL objects of 0.1 have no such
// argument. Raises what ring::read_kinds() raises, and 2202E.
inline const ring::Kinds *
argument_kinds(FunctionCallInfo fcinfo, int n)
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
	if (claim::compiled_claim_of(definition)->managed.kind_index != InvalidOid)
		return;
	if (!definition::has_kind(definition->source))
		error::no_kinds(definition->name, definition->source_name);
	error::no_kind_index(definition->name, definition->source_name);
}

// The columns of a result that are those of a job, where these are all but the first.
inline TupleDesc
job_columns(TupleDesc row)
{
	TupleDesc columns = CreateTemplateTupleDesc(row->natts - 1);
	for (int i = 1; i < row->natts; i++)
		TupleDescCopyEntry(columns, static_cast<AttrNumber>(i), row,
						   static_cast<AttrNumber>(i + 1));
	compat::finish_descriptor(columns);
	return columns;
}

// The columns of a result that begins with those of queue_job. Where the table, of 0.1, has no kind,
// a copy in which that column is dropped, so that it comes out null.
inline TupleDesc
job_columns_of(const definition::Definition *definition, TupleDesc columns)
{
	if (definition::has_kind(definition->source))
		return columns;
	TupleDesc fitting = CreateTupleDescCopy(columns);
	for (int i = 0; i < fitting->natts; i++)
		if (strcmp(NameStr(TupleDescAttr(fitting, i)->attname), "kind") == 0)
			compat::mark_dropped(fitting, i);
	return fitting;
}

} // namespace queue_ext::queue
