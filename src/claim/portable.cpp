// portable.cpp - the portable path of claim.hpp.
//
// One statement: lock the first max_jobs pending rows that nobody holds, then
// write the claim into them by key. The list of rows is a materialised CTE, since
// a sub-select that the planner may run twice would lock, and claim, too much. The
// limit is a constant in the text: a planner that sees a parameter there takes it
// for a tenth of the table and turns away from the index. And the join is not by
// "=", for whose sake the planner would take a scan of the whole primary key into
// account as one side of a merge join; see finish.cpp.

#include "../postgres.hpp"

#include "claim.hpp"

#include "../queue/fragment.hpp"

namespace queue_ext::claim {

using queue::Arguments;
using queue::Definition;
using queue::FragmentKind;
using queue::Parameter;
using queue::PreparedClaim;
using queue::Statement;

static const char *
claim_text(const Definition *definition, int max_jobs)
{
	const queue::Variables variables = queue::scalar_variables();
	const queue::Fragments &fragments = definition->fragments;
	const bool is_managed = definition->is_managed;
	return psprintf(
		"with candidate as materialized ("
		"select id as candidate_id from %s where %s order by %s limit %d"
		" for no key update skip locked)"
		" update %s as t set %s from candidate"
		" where t.id operator(pg_catalog.>=) candidate.candidate_id"
		" and t.id operator(pg_catalog.<=) candidate.candidate_id returning t.*",
		definition->source_name,
		queue::bind(fragments.pending, FragmentKind::condition, variables, is_managed),
		queue::bind(fragments.order_by, FragmentKind::order, variables, is_managed), max_jobs,
		definition->source_name,
		queue::bind(fragments.on_claim, FragmentKind::assignments, variables, is_managed));
}

// The statement for so many jobs; the one unused for longest makes room.
static const Statement &
statement_for(Definition *definition, int max_jobs)
{
	int place = 0;
	while (place < queue::prepared_claim_count - 1 &&
		   definition->claims[place].max_jobs != max_jobs)
		place++;
	PreparedClaim found = definition->claims[place];
	if (found.max_jobs != max_jobs) {
		PreparedClaim fresh{max_jobs, {}};
		queue::prepare(&fresh.statement, claim_text(definition, max_jobs));
		queue::discard_later(&found.statement);
		found = fresh;
	}
	memmove(&definition->claims[1], &definition->claims[0], sizeof(PreparedClaim) * place);
	definition->claims[0] = found;
	return definition->claims[0].statement;
}

// Hands on what the last statement returned.
static void
put_rows(uint64 count, const Output &output)
{
	if (count == 0)
		return;
	TupleConversionMap *map = convert_tuples_by_name(SPI_tuptable->tupdesc, output.descriptor);
	for (uint64 i = 0; i < count; i++) {
		CHECK_FOR_INTERRUPTS();
		HeapTuple row = SPI_tuptable->vals[i];
		tuplestore_puttuple(output.store, map == nullptr ? row : execute_attr_map_tuple(row, map));
	}
}

uint64
claim_portable(Definition *definition, const Request &request, const Output &output)
{
	Arguments arguments(request.call_time);
	const Interval *lease = request.lease != nullptr ? request.lease : &definition->lease;
	arguments.set(Parameter::lease, IntervalPGetDatum(lease));
	if (request.worker != nullptr)
		arguments.set(Parameter::worker, PointerGetDatum(request.worker));

	const uint64 claimed = queue::run(statement_for(definition, request.max_jobs), arguments);
	put_rows(claimed, output);
	return claimed;
}

} // namespace queue_ext::claim
