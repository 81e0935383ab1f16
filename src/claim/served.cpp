// served.cpp - see served.hpp.

#include "../postgres.hpp"

#include "served.hpp"

#include "../definition/fragment.hpp"
#include "../definition/registry.hpp"
#include "../row/rights.hpp"
#include "../statement/plan_tree.hpp"
#include "../statement/qualify.hpp"
#include "claim_text.hpp"

namespace queue_ext::claim {

using definition::Definition;
using statement::IndexRead;
using statement::Statement;

bool
has_serving_index(Definition *definition)
{
	const Statement statement = claim_statement(definition, 1, ring::KindForm::all);
	return statement::is_served(statement.plan, statement.access, statement.tables);
}

namespace {

// Numbers of rows: those that index scans lead to, and those of them that are wanted.
struct Rows
{
	double read;
	double wanted;

	bool is_excessive() const
	{
		return read > wanted * most_excess;
	}
};

} // namespace

// The conditions that depend on the row alone, each after " and ", written out.
static const char *
conditions_text(const List *conditions, Oid table)
{
	StringInfoData text;
	initStringInfo(&text);
	ListCell *cell;
	foreach (cell, conditions) {
		auto *condition = static_cast<Node *>(lfirst(cell));
		if (!contain_subplans(condition) && definition::can_be_predicate(condition))
			appendStringInfo(&text, " and (%s)", definition::write_out_bare(condition, table));
	}
	return text.data;
}

// Prepares the statement, which lives until the end of the transaction.
static Statement
prepare(const char *text, const statement::Named &named)
{
	Statement prepared{};
	statement::prepare(&prepared, statement::qualify(text, ""), nullptr, 0,
					   statement::Access::by_key, {&named, 1}, {});
	const Statement statement = prepared;
	statement::discard_later(&prepared);
	return statement;
}

static double
estimated_rows(const char *text, const statement::Named &named)
{
	const Statement statement = prepare(text, named);
	return statement::estimated_rows(statement.plan, statement.access, statement.tables);
}

// The planner's estimates for one scan.
static Rows
estimate(const char *table, const statement::Named &named, const char *leads, const char *leaves)
{
	return {estimated_rows(psprintf("select from only %s as t where true%s", table, leads), named),
			estimated_rows(
				psprintf("select from only %s as t where true%s%s", table, leads, leaves), named)};
}

// What estimate() estimates, counted among the rows that the scan reads first, up to a thousand.
static Rows
sample(const char *table, const statement::Named &named, const char *leads, const char *leaves)
{
	constexpr int size = 1000;
	const char *text = psprintf("select count(*), count(*) filter (where true%s)"
								" from (select * from only %s as t where true%s limit %d) as t",
								leaves, table, leads, size);
	statement::run(prepare(text, named), nullptr, nullptr);
	const auto count = [](int column) {
		bool is_null;
		return static_cast<double>(DatumGetInt64(
			SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &is_null)));
	};
	return {count(1), count(2)};
}

// Few rows in all are read at once, whatever they are.
Oid
find_excessive_index(Definition *definition)
{
	constexpr double few = 1000;
	const Statement claim = claim_statement(definition, 1, ring::KindForm::all);
	const List *reads = statement::index_reads_of(claim.plan, claim.access, claim.tables);
	Rows estimated{};
	Rows sampled{};
	Oid index = InvalidOid;
	ListCell *cell;
	foreach (cell, reads) {
		const auto *read = static_cast<IndexRead *>(lfirst(cell));
		// Another role may own a partition: then the caller may not be able to read it as such.
		if (!row::may_read_all(read->table))
			continue;
		const char *leaves = conditions_text(read->leaves, read->table);
		const char *leads = conditions_text(read->leads, read->table);
		const char *table = definition::qualified_name(read->table);
		const statement::Named named{read->table, table};
		const Rows rows = estimate(table, named, leads, leaves);
		estimated = {estimated.read + rows.read, estimated.wanted + rows.wanted};
		if (*leaves == '\0' || !rows.is_excessive())
			continue;
		index = read->index;
		const Rows first = sample(table, named, leads, leaves);
		sampled = {sampled.read + first.read, sampled.wanted + first.wanted};
	}
	const bool is_excessive =
		estimated.read > few && estimated.is_excessive() && sampled.is_excessive();
	return is_excessive ? index : InvalidOid;
}

} // namespace queue_ext::claim
