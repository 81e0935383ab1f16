// fill_due.cpp - see fill_due.hpp.

#include "../postgres.hpp"

#include "fill_due.hpp"

#include "../definition/compiled.hpp"
#include "../ring/due_rows.hpp"
#include "claim_text.hpp"
#include "compiled_claim.hpp"
#include "pending_clock.hpp"

namespace queue_ext::claim {

using definition::Definition;
using definition::KindForm;
using definition::Prepared;
using ring::Candidate;
using ring::DueJob;
using ring::Ring;
using ring::due_size;
using ring::no_kind;
using statement::Arguments;
using statement::Statement;

// What has its last attempt has left the order of claims, and is found by the index of dead jobs, which
// tables of the first layout lack.
static const char *
next_due_text(const Definition *definition, KindForm form)
{
	const bool has_index = definition->claim->claimed_at != InvalidAttrNumber;
	const char *last =
		has_index ? psprintf("(select pg_catalog.count(*) from %s as d"
							 " where d.dead_at operator(pg_catalog.>) %s)",
							 definition->source_name, placeholder(statement::Parameter::call_time))
				  : "null::pg_catalog.int8";
	return psprintf("select pg_catalog.min(greatest(t.run_at, t.leased_until)),"
					" pg_catalog.count(*), pg_catalog.count(t.leased_until),"
					" pg_catalog.max(t.priority),"
					" pg_catalog.min(t.run_at) filter (where t.leased_until is null), %s"
					" from %s as t where t.dead_at is null%s",
					last, definition->source_name, ring::kind_condition(form));
}

// The statement of these for the call's kinds.
template <typename MakeText>
static const Statement &
statement_for(Definition *definition, const Prepared (&forms)[3], MakeText &&make_text)
{
	const KindForm form = form_of(definition->claim->kinds);
	return definition::prepared_of(definition, forms[static_cast<int>(form)],
								   form == KindForm::all ? statement::Access::by_key
														 : statement::Access::by_kind,
								   [&] { return make_text(definition, form); });
}

void
count_to_come(Definition *definition, const Arguments &arguments, stats::Look *look)
{
	constexpr Prepared forms[] = {Prepared::next_due, Prepared::next_due_of_one,
								  Prepared::next_due_of_some};
	statement::run(statement_for(definition, forms, next_due_text), arguments);
	bool is_null;
	const auto value = [&](int column) {
		return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &is_null);
	};
	const auto time = [&](int column) {
		const Datum found = value(column);
		return is_null ? PG_INT64_MAX : DatumGetTimestampTz(found);
	};
	const int64 jobs = DatumGetInt64(value(2));
	const int64 leased = DatumGetInt64(value(3));
	look->scheduled = jobs - leased;
	look->run_at = time(5);
	const Datum last = value(6);
	look->knows_leased = !is_null;
	look->leased = leased + (is_null ? 0 : DatumGetInt64(last));
	const Datum priority = value(4);
	look->due = {time(1), jobs == 0 ? stats::no_clock.to : DatumGetInt16(priority)};
	look->is_counted = true;
	SPI_freetuptable(SPI_tuptable);
}

// One more than there is room for, which tells until when they are all.
constexpr int read_size = due_size + 1;

static const char *
due_rows_text(const Definition *definition, KindForm form)
{
	return psprintf("select t.ctid, t.priority, t.run_at, t.id,"
					" greatest(t.run_at, t.leased_until) as due"
					" from %s as t where t.dead_at is null"
					" and greatest(t.run_at, t.leased_until) operator(pg_catalog.>) %s%s"
					" order by due limit %d",
					definition->source_name, placeholder(statement::Parameter::call_time),
					ring::kind_condition(form), read_size);
}

static DueJob
due_job_of(const CompiledClaim *claim, HeapTuple row)
{
	enum Column : int { tid = 1, priority, run_at, id, due };
	bool is_null;
	const auto value = [&](Column column) {
		return SPI_getbinval(row, SPI_tuptable->tupdesc, column, &is_null);
	};
	DueJob result{};
	Candidate *candidate = &result.row.candidate;
	candidate->tid = *reinterpret_cast<ItemPointer>(DatumGetPointer(value(tid)));
	candidate->priority = DatumGetInt16(value(priority));
	candidate->run_at = DatumGetTimestampTz(value(run_at));
	candidate->id = DatumGetInt64(value(id));
	result.row.due = DatumGetTimestampTz(value(due));
	result.kind = claim->kinds == nullptr ? no_kind : claim->kinds->hashes[0];
	return result;
}

// Not of the rows that the sweep has seen pending, by the same clock.
static const char *
attached_due_rows_text(Definition *definition)
{
	const CompiledClaim *claim = definition->claim;
	return psprintf("select t.ctid, t.xmin, %s as due from %s as t where %s and (%s) is not true"
					" and %s operator(pg_catalog.<) %s order by 3 limit %d",
					claim->due_text, definition->source_name, claim->due_condition,
					definition::compiled_of(definition).pending, claim->due_text, never_due_text,
					read_size);
}

static DueJob
attached_due_job_of(const CompiledClaim *claim, HeapTuple row)
{
	enum Column : int { tid = 1, writer, due };
	bool is_null;
	const auto value = [&](Column column) {
		return SPI_getbinval(row, SPI_tuptable->tupdesc, column, &is_null);
	};
	return {{ring::attached_candidate(*reinterpret_cast<ItemPointer>(DatumGetPointer(value(tid))),
									  DatumGetTransactionId(value(writer)), claim->key.table),
			 DatumGetTimestampTz(value(due))},
			no_kind};
}

static const Statement &
due_rows_statement(Definition *definition)
{
	constexpr Prepared forms[] = {Prepared::due_rows, Prepared::due_rows_of_one,
								  Prepared::due_rows_of_some};
	return definition->is_managed ? statement_for(definition, forms, due_rows_text)
								  : definition::prepared_of(definition, Prepared::due_rows, [&] {
										return attached_due_rows_text(definition);
									});
}

TimestampTz
expect_first_due(Definition *definition, Ring *ring, const Arguments &arguments)
{
	const CompiledClaim *claim = definition->claim;
	Arguments newest = arguments;
	TimestampTz next = PG_INT64_MAX;
	auto *jobs = static_cast<DueJob *>(palloc(sizeof(DueJob) * due_size));
	int kept = 0;
	// The newest rows, but by the time of the call: what has become due since the sweep read is to come.
	statement::with_newest(&newest, [&](Snapshot snapshot) {
		const uint64 count =
			statement::run_under(snapshot, due_rows_statement(definition), arguments);
		for (uint64 i = 0; i < count; i++) {
			HeapTuple row = SPI_tuptable->vals[i];
			const DueJob job =
				definition->is_managed ? due_job_of(claim, row) : attached_due_job_of(claim, row);
			if (kept == due_size)
				next = job.row.due;
			else
				jobs[kept++] = job;
		}
		SPI_freetuptable(SPI_tuptable);
	});
	expect_rows(ring, claim->key, jobs, kept);
	pfree(jobs);
	return next;
}

} // namespace queue_ext::claim
