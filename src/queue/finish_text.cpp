// finish_text.cpp - see finish_text.hpp.

#include "../postgres.hpp"

#include "finish_text.hpp"

#include "../claim/compiled_claim.hpp"
#include "../claim/expiry_rule.hpp"
#include "../definition/archiving.hpp"
#include "../definition/compiled.hpp"
#include "../definition/shape.hpp"
#include "../row/rights.hpp"
#include "../stats/transaction_counters.hpp"
#include "calls_kept.hpp"
#include "removed.hpp"

namespace queue_ext::queue {

using definition::Definition;
using statement::Parameter;

namespace {

// The rows that an action may touch.
enum class Fence {
	held, // the receipt's claim still holds the job
	any,  // the job exists, under the attempt of the receipt if that has one
	dead, // as any, and the job is dead
};

// The statements of an action, and which rows they may touch.
struct Rule
{
	CallStatement one;
	CallStatement many;
	Fence fence;
	const char *final_state; // not null: the job leaves the queue in this state
};

// How a statement refers to its receipts.
struct Source
{
	const char *tables; // null: one receipt, in scalar parameters
	const char *id;
	const char *attempt;
	const char *result;
};

} // namespace

// A name that no column of the queue's table should have.
static constexpr const char *result_of_finished = "queue_ext_result";

static Rule
rule_of(Action action)
{
	switch (action) {
		case Action::complete:
			return {CallStatement::complete, CallStatement::complete_many, Fence::held,
					"completed"};
		case Action::fail:
			return {CallStatement::fail, CallStatement::fail_many, Fence::held, nullptr};
		case Action::release:
			return {CallStatement::release, CallStatement::release_many, Fence::held, nullptr};
		case Action::extend:
			return {CallStatement::extend, CallStatement::extend_many, Fence::held, nullptr};
		case Action::cancel:
			return {CallStatement::cancel, CallStatement::cancel_many, Fence::any, "cancelled"};
		case Action::requeue:
			return {CallStatement::requeue, CallStatement::requeue_many, Fence::dead, nullptr};
	}
	pg_unreachable();
}

const char *
final_state_of(Action action)
{
	return rule_of(action).final_state;
}

// The job is ready and has the queue's number of attempts left; the backoff begins anew. attempt itself never falls. Who
// asks for a job once more wants it done, late or not: one that has expired would only end the same way again.
const char *
on_requeue(const Definition *definition)
{
	return psprintf("run_at = %s, leased_until = null, leased_by = null, dead_at = null,"
					" max_attempts = t.attempt operator(pg_catalog.+) %d%s%s",
					placeholder(Parameter::call_time), definition->max_attempts,
					definition::counts_releases(definition->source) ? ", released = t.attempt" : "",
					claim::writes_expiry(definition, false) ? ", expires_at = null" : "");
}

// Returns what the action writes, or null if it deletes the row.
static const char *
assignments_of(Definition *definition, Action action)
{
	switch (action) {
		case Action::complete:
			return definition::compiled_of(definition).on_complete;
		case Action::fail:
			return definition::compiled_of(definition).on_fail;
		case Action::release:
			return definition::compiled_of(definition).on_release;
		case Action::extend:
			return definition::compiled_of(definition).on_extend;
		case Action::cancel:
			return nullptr;
		case Action::requeue:
			return on_requeue(definition);
	}
	pg_unreachable();
}

static Source
one_receipt()
{
	return {nullptr, placeholder(Parameter::id), placeholder(Parameter::attempt),
			placeholder(Parameter::result)};
}

// The rows come in the order of the arrays, which finish_many() has sorted.
static Source
many_receipts()
{
	return {psprintf("rows from (pg_catalog.unnest(%s), pg_catalog.unnest(%s),"
					 " pg_catalog.unnest(%s), pg_catalog.unnest(%s),"
					 " pg_catalog.unnest(%s), pg_catalog.unnest(%s))"
					 " as r(receipt_id, receipt_attempt, receipt_error, receipt_retry_at,"
					 " receipt_result, receipt_progress)",
					 placeholder(Parameter::ids), placeholder(Parameter::attempts),
					 placeholder(Parameter::errors), placeholder(Parameter::retry_ats),
					 placeholder(Parameter::results), placeholder(Parameter::progresses)),
			"r.receipt_id", "r.receipt_attempt", "r.receipt_result"};
}

// The fence stands in the WHERE clause of the statement that writes, so that a row that changes
// meanwhile is checked again in its newest version.
static const char *
fence_text(Fence fence, const Source &source)
{
	// Not "=", which a merge join could use: for that the planner would consider a scan of the
	// whole primary key, and choose it where VACUUM has recorded that the table is empty.
	const char *same_id = psprintf("t.id operator(pg_catalog.>=) %s"
								   " and t.id operator(pg_catalog.<=) %s",
								   source.id, source.id);
	const char *held = psprintf("%s"
								" and t.attempt operator(pg_catalog.=) %s"
								" and t.leased_until is not null",
								same_id, source.attempt);
	const char *any = psprintf("%s"
							   " and (%s is null or t.attempt operator(pg_catalog.=) %s)",
							   same_id, source.attempt, source.attempt);
	switch (fence) {
		case Fence::held:
			return held;
		case Fence::any:
			return any;
		case Fence::dead:
			// Not "dead_at <=", which the index of dead jobs could serve, as on id above.
			return psprintf("%s and coalesce(t.dead_at, 'infinity') operator(pg_catalog.<=) %s",
							any, placeholder(Parameter::call_time));
	}
	pg_unreachable();
}

const char *
died_text()
{
	return psprintf("(t.attempt operator(pg_catalog.>=) t.max_attempts or not %s)",
					placeholder(Parameter::retry));
}

// The ID; of a job that has failed also whether it is dead, by the columns that on_fail reads, for a
// caller with rights on no more.
static const char *
returned(Action action, bool is_timed)
{
	if (action != Action::fail)
		return "t.id";
	return psprintf("t.id, %s%s", died_text(), is_timed ? ", t.claimed_at" : "");
}

// For many receipts, error, retry_at and new_progress are columns of the receipts instead of parameters.
static const char *
update_text(const Definition *definition, const char *assignments, const Source &source,
			const char *fence, const char *returned)
{
	if (source.tables == nullptr)
		return psprintf("update %s as t set %s where %s returning %s", definition->source_name,
						assignments, fence, returned);
	return psprintf("update %s as t set %s from %s where %s returning %s", definition->source_name,
					bind_rows(assignments, definition::FragmentKind::assignments,
							  {"r.receipt_error", "r.receipt_retry_at", "r.receipt_progress"}),
					source.tables, fence, returned);
}

static const char *
delete_text(const Definition *definition, const char *tables, const char *fence,
			const char *returning)
{
	return psprintf("delete from %s as t%s%s where %s returning %s", definition->source_name,
					tables == nullptr ? "" : " using ", tables == nullptr ? "" : tables, fence,
					returning);
}

// Deletes and archives in one statement, so one fence holds for both. Raises 55000 if there is no archive.
static const char *
archive_text(const Definition *definition, const Removal &removal)
{
	const bool has_result =
		removal.result != nullptr && definition::keeps_results(definition->archive);
	const char *deleted =
		has_result ? psprintf("t.*, %s as %s", removal.result, result_of_finished) : "t.*";
	return psprintf("with finished as (%s) %s returning id%s%s",
					delete_text(definition, removal.tables, removal.fence, deleted),
					archiving_text(definition, "finished", removal.final_state,
								   has_result ? result_of_finished : nullptr),
					removal.is_timed ? ", claimed_at" : "", removal.told);
}

const char *
removal_text(const Definition *definition, const Removal &removal)
{
	if (definition->is_archived)
		return archive_text(definition, removal);
	if (!definition->is_managed)
		return delete_text(definition, removal.tables, removal.fence, "1");
	return delete_text(
		definition, removal.tables, removal.fence,
		psprintf("t.id%s%s", removal.is_timed ? ", t.claimed_at" : "", removal.told));
}

// tells_more: the statement returns more than what it is asked for, for the statistics.
static const char *
text_of(Definition *definition, Action action, const Source &source, bool tells_more)
{
	const Rule rule = rule_of(action);
	const char *fence = fence_text(rule.fence, source);
	const char *assignments = assignments_of(definition, action);
	if (assignments != nullptr)
		return update_text(definition, assignments, source, fence, returned(action, tells_more));
	if (action == Action::cancel)
		return removal_text(definition, {source.tables, fence, rule.final_state, nullptr, false,
										 tells_more ? states_text(definition) : ""});
	// Who may not read when the job would have died takes any late one for dead.
	const char *death = tells_more ? "t.dead_at" : "t.leased_until";
	const bool has_columns = claim::compiled_claim_of(definition)->managed.has_columns;
	return removal_text(definition, {source.tables, fence, rule.final_state, source.result,
									 tells_more, has_columns ? lease_text(definition, death) : ""});
}

// Whether the statement may return when the job was claimed, and when it would have died: the tables have
// the columns, and the caller, who may have rights on some only, may read them.
static bool
is_timed(Definition *definition, Action action)
{
	if ((action != Action::complete && action != Action::fail) || !stats::is_on())
		return false;
	const claim::CompiledClaim *claim = claim::compiled_claim_of(definition);
	const AttrNumber columns[] = {claim->claimed_at, claim->managed.dead_at};
	if (claim->claimed_at == InvalidAttrNumber || claim->managed.dead_at == InvalidAttrNumber ||
		!row::has_right_on(definition->source, ACL_SELECT, columns,
						   action == Action::fail ? 1 : lengthof(columns)))
		return false;
	if (action == Action::fail || !definition->is_archived)
		return true;
	if (definition->archive_name == nullptr || !definition::has_claimed_at(definition->archive))
		return false;
	const AttrNumber archived = get_attnum(definition->archive, "claimed_at");
	return row::has_right_on(definition->archive, ACL_SELECT, &archived, 1);
}

static bool
tells_more(Definition *definition, Action action)
{
	return action == Action::cancel ? may_tell_states(definition) : is_timed(definition, action);
}

static CallStatement
telling_more(CallStatement which)
{
	switch (which) {
		case CallStatement::complete:
			return CallStatement::complete_timed;
		case CallStatement::complete_many:
			return CallStatement::complete_many_timed;
		case CallStatement::fail:
			return CallStatement::fail_timed;
		case CallStatement::fail_many:
			return CallStatement::fail_many_timed;
		case CallStatement::cancel:
			return CallStatement::cancel_told;
		case CallStatement::cancel_many:
			return CallStatement::cancel_many_told;
		default:
			return which;
	}
}

static CallStatement
clearing_expiry(CallStatement which)
{
	return which == CallStatement::requeue ? CallStatement::requeue_expiry
										   : CallStatement::requeue_many_expiry;
}

const statement::Statement &
finish_statement(Definition *definition, Action action, bool is_many)
{
	const Rule rule = rule_of(action);
	CallStatement which = is_many ? rule.many : rule.one;
	const bool is_more = tells_more(definition, action);
	if (is_more)
		which = telling_more(which);
	if (action == Action::requeue && claim::writes_expiry(definition, false))
		which = clearing_expiry(which);
	return prepared_of(definition, kept_for_calls(definition, which), [&] {
		return text_of(definition, action, is_many ? many_receipts() : one_receipt(), is_more);
	});
}

} // namespace queue_ext::queue
