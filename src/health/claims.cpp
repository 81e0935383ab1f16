// claims.cpp - see claims.hpp.
//
// A queue's fragments are its owner's code: planning evaluates immutable functions of constants, which may
// fail, never return, or take locks of the session. So a claim is compiled only for the owner and members
// of its role, a superuser not counted as one. It is compiled as the table's owner, in a security-restricted
// operation, and in a subtransaction that is rolled back: as REINDEX and ANALYZE do. For the others the
// table's descriptor and the rings tell how claims are made, and of a managed queue, whose fragments are ours,
// the parser tells whether they fit its table.

#include "../postgres.hpp"

#include "claims.hpp"

#include "../catalog/owner.hpp"
#include "../claim/choice.hpp"
#include "../claim/served.hpp"
#include "../definition/compiled.hpp"
#include "../definition/shape.hpp"
#include "../row/plain.hpp"
#include "../statement/search_path.hpp"
#include "../statement/subtransaction.hpp"
#include "../stats/shared_table.hpp"
#include "../wake/trigger.hpp"

namespace queue_ext::health {

using definition::Definition;

namespace {

// What compiling a claim has shown.
struct Compiled
{
	claim::Path path;
	claim::Obstacle obstacle;
	bool is_noted; // all claims are noted in a ring, as far as the table decides that
	bool is_served;
	const char *error; // why it cannot be compiled; null if it can
	bool is_locked;    // or because a table that it needs is locked
};

} // namespace

// Whether the caller has the role of the fragments' author anyway.
static bool
is_of_caller(const Definition *definition)
{
	return is_member_of_role_nosuper(GetUserId(), catalog::owner_of(definition->source));
}

// An error of the fragments: not who cancels the call, nor that memory has run out.
static bool
is_of_fragments(const ErrorData *error)
{
	return !statement::is_interrupt(error) &&
		   ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_INSUFFICIENT_RESOURCES;
}

// Runs compile(&compiled), which may raise what the fragments raise.
template <typename Compile>
static Compiled
try_to_compile(const Definition *definition, Compile &&compile)
{
	Compiled compiled{};
	char *message = nullptr;
	int code = 0;
	const bool is_done = statement::in_subtransaction(
		[&] {
			statement::rolled_back([&] {
				catalog::as_restricted_owner_of(definition->source, [&] {
					statement::set_locally({"lock_timeout", "10ms"});
					compile(&compiled);
				});
			});
		},
		[&](const ErrorData *error) {
			message = pstrdup(error->message);
			code = error->sqlerrcode;
			return is_of_fragments(error);
		});
	compiled.error = is_done ? nullptr : message;
	compiled.is_locked = !is_done && code == ERRCODE_LOCK_NOT_AVAILABLE;
	return compiled;
}

static Compiled
compile(const Subject &subject)
{
	Definition *definition = subject.definition;
	return try_to_compile(definition, [&](Compiled *compiled) {
		const claim::CompiledClaim *claim = claim::compiled_claim_of(definition);
		compiled->path = claim->path;
		compiled->obstacle = claim->obstacle;
		compiled->is_noted =
			claim->path != claim::Path::portable && !claim::ring_claim_of(definition)->has_policies;
		compiled->is_served = true;
		if (!definition->is_managed)
			statement::with_spi(
				[&] { compiled->is_served = claim::has_serving_index(definition); });
	});
}

// What sessions have noted that have compiled it. Nothing, where statistics are off.
static void
take_noted(const Definition *definition, Compiled *compiled)
{
	stats::Entry entry;
	const stats::Key key =
		stats::key_of(definition->source, definition->name, definition->is_managed);
	if (!stats::find_entry(key, &entry))
		return;
	if (entry.claims == stats::Claims::broken && compiled->error == nullptr)
		compiled->error = "a session could not compile them";
	if (entry.claims == stats::Claims::by_statement) {
		compiled->path = claim::Path::portable;
		compiled->obstacle.reason = "a session has found no better path";
		compiled->is_noted = false;
	}
}

// What can be found without the owner's code. The library's fragments have no literal, which could be of a domain.
// Claims of a managed queue are from a ring wherever its table is a heap that no rule rewrites.
static Compiled
look(const Subject &subject, Relation table)
{
	Definition *definition = subject.definition;
	Compiled compiled{};
	if (definition->is_managed)
		compiled = try_to_compile(definition,
								  [&](Compiled *) { (void) definition::compiled_of(definition); });
	compiled.path = claim::Path::direct;
	compiled.is_noted =
		row::has_heap(table) && table->rd_rules == nullptr && !table->rd_rel->relrowsecurity;
	compiled.is_served = true;
	take_noted(definition, &compiled);
	return compiled;
}

// Not where they do not compile, which is a finding of its own.
static void
check_failures(const Subject &subject)
{
	const Definition *definition = subject.definition;
	stats::Entry entry;
	if (!stats::find_entry(
			stats::key_of(definition->source, definition->name, definition->is_managed), &entry))
		return;
	const stats::Failure &failure = entry.failure;
	if (failure.at == 0 || (!failure.is_last && subject.now() - failure.at > patience_us()))
		return;
	const char *name = quote_literal_cstr(subject.name);
	subject.put(
		{"claims_fail", failure.is_last ? Severity::critical : Severity::warning,
		 psprintf("A claim has failed at %s, with SQLSTATE %s; %s since.", moment_text(failure.at),
				  unpack_sql_state(failure.code),
				  failure.is_last ? "none has gone well" : "others have gone well"),
		 psprintf(
			 "As a worker's role, BEGIN; SELECT * FROM %s; ROLLBACK; raises it again, with its "
			 "message.",
			 definition->is_managed
				 ? psprintf("queue_pop(%s)", name)
				 : psprintf("queue_pop_rows(null::%s, %s)", definition->source_name, name))});
}

static void
check_path(const Subject &subject, const Compiled &compiled)
{
	const char *check =
		psprintf("%sSELECT * FROM queue_claim_path(%s) as a worker's role tells "
				 "more.",
				 compiled.obstacle.hint == nullptr ? "" : psprintf("%s ", compiled.obstacle.hint),
				 quote_literal_cstr(subject.name));
	if (compiled.path == claim::Path::portable)
		subject.put({"claim_path_slow", Severity::warning,
					 psprintf("Each claim is a statement of its own, and reads past leased, locked "
							  "and dead rows: %s.",
							  compiled.obstacle.reason),
					 check});
	else if (compiled.path == claim::Path::tid)
		subject.put({"claim_path_slow", Severity::info,
					 psprintf("Claims are statements over the next jobs' TIDs: %s.",
							  compiled.obstacle.reason),
					 check});
	else if (subject.workers != nullptr && subject.workers->is_by_tid)
		subject.put(
			{"claim_path_slow", Severity::info,
			 psprintf("Claims of some workers are by statements: %s.", subject.workers->path),
			 check});
}

// A sweep waits for twenty times what the last one took: from then on, jobs that nothing announces
// are found a second late or more.
static void
check_sweeps(const Subject &subject)
{
	constexpr int64 dear_us = 50000;
	if (subject.workers == nullptr || subject.workers->sweep_cost_us < dear_us)
		return;
	subject.put(
		{"sweeps_dear", Severity::warning,
		 psprintf("The last look for jobs from the head of the order took " INT64_FORMAT " ms.",
				  subject.workers->sweep_cost_us / 1000),
		 "See the other findings for a missing index, and for what keeps VACUUM from removing "
		 "dead rows; an attached queue's condition may be slow."});
}

// Whether the table of a managed queue is as queue_create makes it, as far as its claims go: they are
// direct then. Compiling those of a thousand queues would take much longer.
static bool
is_as_created(const Subject &subject, Relation table)
{
	const TriggerDesc *triggers = table->trigdesc;
	const TupleConstr *constraints = RelationGetDescr(table)->constr;
	return subject.definition->is_managed && row::is_plain(table) &&
		   (triggers == nullptr ||
			(triggers->numtriggers == 1 && wake::is_wake_function(triggers->triggers[0].tgfoid))) &&
		   (constraints == nullptr || constraints->num_check <= 1) &&
		   definition::fault_of_table(table) == nullptr;
}

bool
check_claims(const Subject &subject, Relation table)
{
	check_sweeps(subject);
	if (!subject.may_read)
		return false;
	if (is_as_created(subject, table)) {
		check_failures(subject);
		return true;
	}
	const Compiled compiled =
		is_of_caller(subject.definition) ? compile(subject) : look(subject, table);
	if (compiled.is_locked)
		return false;
	if (compiled.error != nullptr) {
		subject.put(
			{"definition_broken", Severity::critical,
			 psprintf("Its claims fail: %s.", compiled.error),
			 subject.definition->is_managed
				 ? "Undo the change of its table."
				 : psprintf("Undo the change, or SELECT queue_detach(%s); and attach it anew.",
							quote_literal_cstr(subject.name))});
		return false;
	}
	check_failures(subject);
	if (!compiled.is_served)
		subject.put(
			{"claim_index_missing", Severity::warning,
			 "No index serves its claims in the order: each look for jobs reads and sorts "
			 "them.",
			 "Attach it anew in a transaction that is rolled back: the warning has the CREATE "
			 "INDEX."});
	check_path(subject, compiled);
	return compiled.is_noted;
}

} // namespace queue_ext::health
