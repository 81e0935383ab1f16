// claim_text.cpp - see claim_text.hpp.

#include "../postgres.hpp"

#include "claim_text.hpp"

#include "../catalog/own_table.hpp"
#include "../catalog/row_key.hpp"
#include "../definition/compiled.hpp"
#include "../definition/definition_cache.hpp"
#include "../definition/registry.hpp"
#include "../interval.hpp"
#include "../row/write.hpp"
#include "claims_kept.hpp"
#include "expiry_rule.hpp"

namespace queue_ext::claim {

using catalog::RowKey;
using definition::ClaimMode;
using definition::Compiled;
using definition::Definition;
using ring::KindForm;
using statement::Arguments;
using statement::Parameter;
using statement::Statement;

Arguments
arguments_for(const Definition *definition, const Request &request)
{
	Arguments arguments(request.call_time);
	const Interval *lease = definition::lease_of(definition, request.lease);
	arguments.set(Parameter::lease, IntervalPGetDatum(exact_length(request.call_time, lease)));
	if (request.worker != nullptr)
		arguments.set(Parameter::worker, PointerGetDatum(request.worker));
	if (request.kinds != nullptr)
		arguments.set(Parameter::kinds, request.kinds->array);
	return arguments;
}

const char *
row_key(Definition *definition)
{
	return catalog::row_key_text(definition::compiled_of(definition).row_key, "t");
}

const char *
whole_row(const Definition *definition)
{
	return psprintf("t.*::%s", definition->source_name);
}

const char *
unknown_condition(Definition *definition)
{
	return psprintf(" and not %s.queue_is_held(%u::pg_catalog.oid, %s)",
					quote_identifier(catalog::own_schema()), definition->source,
					row_key(definition));
}

const char *
read_text(Definition *definition, const char *columns, const char *condition, int max_jobs)
{
	const Compiled &compiled = definition::compiled_of(definition);
	return psprintf("select %s from %s as t where (%s)%s%s%s%s limit %d", columns,
					definition->source_name, compiled.pending, condition,
					unexpired_condition(definition),
					compiled.order_by == nullptr ? "" : " order by ",
					compiled.order_by == nullptr ? "" : compiled.order_by, max_jobs);
}

const char *
lock_strength(Definition *definition)
{
	Relation table = table_open(definition->source, NoLock);
	const LockTupleMode mode = row::lock_mode_for(
		table, row::with_generated(table, definition::compiled_of(definition).written));
	table_close(table, NoLock);
	return mode == LockTupleExclusive ? "update" : "no key update";
}

const char *
lock_text(Definition *definition, const char *columns, const char *condition, int max_jobs)
{
	return psprintf("%s for %s of t skip locked",
					read_text(definition, columns, condition, max_jobs), lock_strength(definition));
}

// The key's columns, renamed so that they cannot be mistaken for columns of the table.
static const char *
candidate_columns(const RowKey &row_key)
{
	StringInfoData text;
	initStringInfo(&text);
	for (int i = 0; i < row_key.length; i++)
		appendStringInfo(&text, "%st.%s as candidate_%d", i == 0 ? "" : ", ",
						 row_key.columns[i].name, i);
	return text.data;
}

// By the operators of the key's index, which serves the comparison (statement/plan.hpp).
static const char *
candidate_matches(const RowKey &row_key)
{
	StringInfoData text;
	initStringInfo(&text);
	for (int i = 0; i < row_key.length; i++)
		appendStringInfo(&text, "%st.%s %s candidate.candidate_%d", i == 0 ? "" : " and ",
						 row_key.columns[i].name, row_key.columns[i].equality, i);
	return text.data;
}

// Returns the row, these columns, and as the last one whether it is still pending.
static const char *
write_text(Definition *definition, const char *source, const char *condition, const char *columns)
{
	const Compiled &compiled = definition::compiled_of(definition);
	return psprintf("update %s as t set %s from %s where %s returning t.*,%s (%s)",
					definition->source_name, compiled.on_claim, source, condition, columns,
					compiled.pending);
}

// The candidates are materialized, as a sub-select that runs twice would lock and claim too many
// rows.
static const char *
write_by_key_text(Definition *definition, int max_jobs, const char *condition)
{
	const RowKey &row_key = definition::compiled_of(definition).row_key;
	const char *columns = candidate_columns(row_key);
	if (definition->is_managed)
		columns = psprintf("%s, t.leased_until as %s", columns, former_lease);
	return psprintf(
		"with candidate as materialized (%s) %s",
		lock_text(definition, columns, condition, max_jobs),
		write_text(definition, "candidate", candidate_matches(row_key),
				   definition->is_managed ? psprintf(" candidate.%s,", former_lease) : ""));
}

// The whole claim, in a table with a key; otherwise only the locking.
static const char *
update_text(Definition *definition, int max_jobs, const char *condition)
{
	return definition::compiled_of(definition).row_key.has_key()
			   ? write_by_key_text(definition, max_jobs, condition)
			   : lock_text(definition, "t.tableoid, t.ctid", condition, max_jobs);
}

const char *
write_located_text(Definition *definition)
{
	return write_text(definition,
					  psprintf("rows from (pg_catalog.unnest(%s), pg_catalog.unnest(%s))"
							   " as located(located_table, located_tid)",
							   statement::placeholder(Parameter::tables),
							   statement::placeholder(Parameter::tids)),
					  "t.ctid operator(pg_catalog.=) located.located_tid"
					  " and t.tableoid operator(pg_catalog.=) located.located_table",
					  "");
}

// Only managed queues, whose mode is update, have kinds. Mode session locks nothing here: the advisory
// lock comes first there (session.cpp).
const char *
claim_text(Definition *definition, int max_jobs, KindForm form)
{
	switch (definition->claim_mode) {
		case ClaimMode::update:
			return update_text(definition, max_jobs, ring::kind_condition(form));
		case ClaimMode::transaction:
			return lock_text(definition, psprintf("t.*, %s", row_key(definition)),
							 unknown_condition(definition), max_jobs);
		case ClaimMode::session:
			return read_text(definition,
							 psprintf("%s, %s", row_key(definition), whole_row(definition)),
							 unknown_condition(definition), max_jobs);
	}
	pg_unreachable();
}

// Those of the definition, each with a statement, prepared or not.
static PreparedClaim *
prepared_claims_of(Definition *definition)
{
	PreparedClaim *claims = definition::beside<ClaimsKept>(definition)->claims;
	for (int i = 0; i < prepared_claim_count; i++)
		(void) statement_at(definition, &claims[i].statement);
	return claims;
}

// The cache of definitions may have given the plan up.
static bool
is_for(const PreparedClaim &claim, int max_jobs, KindForm form)
{
	return claim.statement->is_prepared() && claim.max_jobs == max_jobs && claim.form == form;
}

// The index of the statement for so many jobs in that form, or else the last, to be replaced.
static int
index_of(const PreparedClaim *claims, int max_jobs, KindForm form)
{
	int index = 0;
	while (index < prepared_claim_count - 1 && !is_for(claims[index], max_jobs, form))
		index++;
	return index;
}

// Moves the statement to the front, so that the last one is the least recently used.
Statement
claim_statement(Definition *definition, int max_jobs, KindForm form)
{
	PreparedClaim *claims = prepared_claims_of(definition);
	int index = index_of(claims, max_jobs, form);
	if (!is_for(claims[index], max_jobs, form)) {
		Statement fresh{};
		const char *text = claim_text(definition, max_jobs, form);
		statement::prepare(&fresh, text, definition->row_type,
						   ring::access_of(form, definition::compiled_of(definition).access),
						   definition::tables_in(definition, text),
						   {act_of(ClaimStatement::claim_by_tid), definition->name});
		fresh.follows_partitions = definition->is_partitioned;
		definition::note_growth(definition);
		// Parsing may have run user-defined code that claims, so that other statements are there
		// now.
		index = prepared_claim_count - 1;
		definition::discard_after_calls(claims[index].statement);
		claims[index] = {max_jobs, form, claims[index].statement};
		*claims[index].statement = fresh;
	}
	const PreparedClaim found = claims[index];
	memmove(&claims[1], &claims[0], sizeof(PreparedClaim) * index);
	claims[0] = found;
	return *found.statement;
}

} // namespace queue_ext::claim
