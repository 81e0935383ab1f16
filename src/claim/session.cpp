// session.cpp - see session.hpp.
//
// The rows that look pending are read in order, and each is tried in turn. The advisory lock is
// taken first, and the row read again after that, with a snapshot newer than the lock: the session
// that had the lock before may have finished the job meanwhile, and has committed that before it
// released the lock (held/rows.hpp). A row that another session has locked, or that is no longer
// pending, is passed by, and the next read leaves it out; so a pop returns fewer rows than it was
// asked for only when there are no more.

#include "../postgres.hpp"

#include "session.hpp"

#include "../definition/compiled.hpp"
#include "../error.hpp"
#include "../held/rows.hpp"
#include "../statement/row_type.hpp"
#include "claim_text.hpp"
#include "claims_kept.hpp"

namespace queue_ext::claim {

using definition::Definition;
using ring::KindForm;
using held::HeldId;
using statement::Arguments;
using statement::Parameter;
using statement::Statement;

// Rows read beyond those wanted, since other sessions may hold some.
constexpr int spare_candidates = 16;

// Names the row by its key, as it may have been updated since it was read.
static const char *
recheck_text(Definition *definition)
{
	const definition::Compiled &compiled = definition::compiled_of(definition);
	return psprintf("select t.* from %s as t where %s and (%s)", definition->source_name,
					catalog::key_matches_row(compiled.row_key), compiled.pending);
}

namespace {

// A row read and its key, copied, as the next statement frees what the last one returned.
struct RowRead
{
	char *row_key;
	Datum row;
};

// What one read has found.
struct RowsRead
{
	RowRead *elements;
	uint64 count;
	TupleDesc columns; // of the rows
};

} // namespace

// Copies the rows that the last statement has returned, in the memory context given.
static RowsRead
copy_candidates(Definition *definition, uint64 count, MemoryContext context)
{
	RowsRead candidates{};
	candidates.count = count;
	MemoryContext old = MemoryContextSwitchTo(context);
	candidates.columns = statement::columns_of(definition->row_type);
	candidates.elements = static_cast<RowRead *>(palloc(sizeof(RowRead) * (count + 1)));
	for (uint64 i = 0; i < count; i++) {
		bool is_null;
		HeapTuple tuple = SPI_tuptable->vals[i];
		const Datum row = SPI_getbinval(tuple, SPI_tuptable->tupdesc, 2, &is_null);
		candidates.elements[i] = {SPI_getvalue(tuple, SPI_tuptable->tupdesc, 1),
								  datumCopy(row, false, -1)};
	}
	MemoryContextSwitchTo(old);
	SPI_freetuptable(SPI_tuptable);
	return candidates;
}

// Reads the next rows that look pending, into the memory context given.
static RowsRead
read_candidates(Definition *definition, const Request &request, MemoryContext context)
{
	const Statement statement =
		claim_statement(definition, request.max_jobs + spare_candidates, KindForm::all);
	return copy_candidates(definition,
						   statement::run(statement, arguments_for(definition, request)), context);
}

// Reads the row again: true if it is still pending, and then it is in SPI_tuptable.
static bool
recheck(Definition *definition, const Request &request, const statement::Row &row)
{
	const Statement &statement =
		prepared_of(definition, kept_for_claims(definition, ClaimStatement::recheck),
					statement::Access::by_row_key, [&] { return recheck_text(definition); });
	Arguments arguments = arguments_for(definition, request);
	arguments.set_row(row.value, row.columns);
	return statement::run(statement, arguments) > 0;
}

// Tries one row; true if it was won.
static bool
try_claim(Definition *definition, const Request &request, const RowRead &candidate,
		  TupleDesc columns, const Output &output)
{
	const Oid table = definition->source;
	const HeldId held = held::try_hold(definition, candidate.row_key);
	if (held == 0)
		return false;
	// "pending" may have a function that releases the lock.
	const bool is_won = recheck(definition, request, {candidate.row, columns}) &&
						held::has_hold(table, candidate.row_key, held);
	if (is_won)
		put_rows(1, output);
	else
		held::pass_by(table, candidate.row_key, held);
	SPI_freetuptable(SPI_tuptable);
	return is_won;
}

// Tries the rows until so many are claimed; returns how many were.
static uint64
claim_from(const RowsRead &candidates, Definition *definition, const Request &request,
		   uint64 wanted, const Output &output)
{
	uint64 claimed = 0;
	for (uint64 i = 0; i < candidates.count && claimed < wanted; i++)
		claimed +=
			try_claim(definition, request, candidates.elements[i], candidates.columns, output);
	return claimed;
}

static MemoryContext
create_context()
{
	return AllocSetContextCreate(CurrentMemoryContext, "queue_ext candidates",
								 ALLOCSET_DEFAULT_SIZES);
}

uint64
claim_rows(Definition *definition, const Request &request, uint64 count, const Output &output)
{
	MemoryContext context = create_context();
	const uint64 claimed = claim_from(copy_candidates(definition, count, context), definition,
									  request, static_cast<uint64>(request.max_jobs), output);
	MemoryContextDelete(context);
	return claimed;
}

uint64
claim_by_session(Definition *definition, const Request &request, const Output &output)
{
	MemoryContext context = create_context();
	const auto wanted = static_cast<uint64>(request.max_jobs);
	const HeldId begun = held::begin_passing();
	uint64 claimed = 0;
	while (claimed < wanted) {
		CHECK_FOR_INTERRUPTS();
		const RowsRead candidates = read_candidates(definition, request, context);
		claimed += claim_from(candidates, definition, request, wanted - claimed, output);
		if (candidates.count == 0)
			break;
		MemoryContextReset(context);
	}
	held::forget_passed(begun);
	MemoryContextDelete(context);
	return claimed;
}

// Tries the rows in turn until one is free.
static bool
has_free(const RowsRead &candidates, const Definition *definition)
{
	for (uint64 i = 0; i < candidates.count; i++) {
		const char *row_key = candidates.elements[i].row_key;
		const HeldId held = held::try_hold(definition, row_key);
		if (held != 0) {
			held::pass_by(definition->source, row_key, held);
			return true;
		}
	}
	return false;
}

bool
is_any_free(Definition *definition, const Request &request)
{
	MemoryContext context = create_context();
	const HeldId begun = held::begin_passing();
	bool is_free = false;
	while (!is_free) {
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(context);
		const RowsRead candidates = read_candidates(definition, request, context);
		if (candidates.count == 0)
			break;
		is_free = has_free(candidates, definition);
	}
	held::forget_passed(begun);
	MemoryContextDelete(context);
	return is_free;
}

} // namespace queue_ext::claim
