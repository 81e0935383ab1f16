// claim_text.cpp - see claim_text.hpp.

#include "../postgres.hpp"

#include "claim_text.hpp"

#include "../catalog/own_table.hpp"
#include "../definition/definition_cache.hpp"
#include "../definition/registry.hpp"
#include "../row/write.hpp"

namespace queue_ext::claim {

using statement::Arguments;
using definition::Definition;
using definition::PreparedClaim;
using statement::Parameter;

Arguments
arguments_for(const Definition *definition, const Request &request)
{
	Arguments arguments(request.call_time);
	arguments.set(Parameter::lease,
				  IntervalPGetDatum(definition::lease_of(definition, request.lease)));
	if (request.worker != nullptr)
		arguments.set(Parameter::worker, PointerGetDatum(request.worker));
	return arguments;
}

const char *
row_identity(Definition *definition)
{
	definition::compiled_of(definition);
	return catalog::identity_text(definition->identity, "t");
}

const char *
unknown_condition(Definition *definition)
{
	return psprintf(" and not %s.queue_is_held(%u::pg_catalog.oid, %s)",
					quote_identifier(catalog::own_schema()), definition->source,
					row_identity(definition));
}

const char *
read_text(Definition *definition, const char *columns, const char *condition, int max_jobs)
{
	const definition::CompiledFragments &compiled = definition::compiled_of(definition);
	return psprintf("select %s from %s as t where (%s)%s%s%s limit %d", columns,
					definition->source_name, compiled.pending, condition,
					compiled.order_by == nullptr ? "" : " order by ",
					compiled.order_by == nullptr ? "" : compiled.order_by, max_jobs);
}

// The columns that a claim writes, as pull_varattnos() counts them.
static Bitmapset *
claimed_columns(Definition *definition)
{
	Bitmapset *columns = nullptr;
	ListCell *cell;
	foreach (cell, definition::compiled_of(definition).claimed_columns) {
		const AttrNumber number =
			get_attnum(definition->source, static_cast<const char *>(lfirst(cell)));
		columns = bms_add_member(columns, number - FirstLowInvalidHeapAttributeNumber);
	}
	return columns;
}

// As strong as the claim's own lock, which then waits for no other.
static const char *
lock_strength(Definition *definition)
{
	Relation table = table_open(definition->source, NoLock);
	const LockTupleMode mode = row::lock_mode_for(table, claimed_columns(definition));
	table_close(table, NoLock);
	return mode == LockTupleExclusive ? "update" : "no key update";
}

const char *
lock_text(Definition *definition, const char *columns, const char *condition, int max_jobs)
{
	return psprintf("%s for %s of t skip locked",
					read_text(definition, columns, condition, max_jobs), lock_strength(definition));
}

// The place of the plan for so many, or else the last.
static int
place_of(const Definition *definition, int max_jobs)
{
	int place = 0;
	while (place < definition::prepared_claim_count - 1 &&
		   definition->claims[place].max_jobs != max_jobs)
		place++;
	return place;
}

statement::Statement
claim_statement(Definition *definition, int max_jobs)
{
	int place = place_of(definition, max_jobs);
	if (definition->claims[place].max_jobs != max_jobs) {
		PreparedClaim fresh{max_jobs, {}};
		statement::prepare(&fresh.statement, claim_text(definition, max_jobs), definition->row_type,
						   definition::compiled_of(definition).access);
		fresh.statement.follows_partitions = definition->is_partitioned;
		definition::note_growth(definition);
		// Parsing may have run code of the user's that claims, and what stood there is gone.
		place = definition::prepared_claim_count - 1;
		definition::discard_after_calls(&definition->claims[place].statement);
		definition->claims[place] = fresh;
	}
	const PreparedClaim found = definition->claims[place];
	memmove(&definition->claims[1], &definition->claims[0], sizeof(PreparedClaim) * place);
	definition->claims[0] = found;
	return found.statement;
}

bool
is_served(Definition *definition)
{
	const statement::Statement statement = claim_statement(definition, 1);
	return statement::is_served(statement.plan, statement.access);
}

} // namespace queue_ext::claim
