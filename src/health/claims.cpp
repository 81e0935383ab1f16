// claims.cpp - see claims.hpp.
//
// A queue's fragments are its owner's code: planning evaluates immutable functions of constants. So
// that a superuser who asks for the health of all queues does not run other roles' code as a
// superuser, it runs as the table's owner, in a security-restricted operation, and in a subtransaction
// that is rolled back: as REINDEX and ANALYZE do.

#include "../postgres.hpp"

#include "claims.hpp"

#include "../catalog/owner.hpp"
#include "../claim/choice.hpp"
#include "../claim/served.hpp"
#include "../claim/wake_trigger.hpp"
#include "../definition/compiled.hpp"
#include "../definition/shape.hpp"
#include "../row/plain.hpp"
#include "../statement/search_path.hpp"
#include "../statement/subtransaction.hpp"

namespace queue_ext::health {

using definition::Definition;

namespace {

// What compiling a claim has shown.
struct Compiled
{
	claim::Path path;
	claim::Obstacle obstacle;
	bool has_policies; // for some callers
	bool is_served;
	const char *error; // why it cannot be compiled; null if it can
	bool is_locked;    // or because a table that it needs is locked
};

} // namespace

// The body raises what it raises, but for what ends the statement anyhow.
template <typename Body>
static void
as_restricted_owner(Oid table, Body &&body)
{
	const Oid owner = catalog::owner_of(table);
	Oid user;
	int security;
	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(owner, security | SECURITY_RESTRICTED_OPERATION);
	const int level = NewGUCNestLevel();
	statement::set_locally({"lock_timeout", "10ms"});
	body();
	AtEOXact_GUC(false, level);
	SetUserIdAndSecContext(user, security);
}

// An error of the fragments, not of the server or of who has cancelled the statement.
static bool
is_of_fragments(const ErrorData *error)
{
	const int category = ERRCODE_TO_CATEGORY(error->sqlerrcode);
	return category != ERRCODE_OPERATOR_INTERVENTION &&
		   category != ERRCODE_INSUFFICIENT_RESOURCES && category != ERRCODE_SYSTEM_ERROR &&
		   category != ERRCODE_INTERNAL_ERROR;
}

static Compiled
compile(const Subject &subject)
{
	Definition *definition = subject.definition;
	Compiled compiled{};
	char *message = nullptr;
	int code = 0;
	const bool is_done = statement::in_subtransaction(
		[&] {
			statement::rolled_back([&] {
				as_restricted_owner(definition->source, [&] {
					const claim::CompiledClaim *claim = claim::compiled_claim_of(definition);
					compiled.path = claim->path;
					compiled.obstacle = claim->obstacle;
					compiled.has_policies = claim->has_policies;
					compiled.is_served = true;
					if (!definition->is_managed)
						statement::with_spi(
							[&] { compiled.is_served = claim::is_served(definition); });
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
		   (triggers == nullptr || (triggers->numtriggers == 1 &&
									claim::is_wake_function(triggers->triggers[0].tgfoid))) &&
		   (constraints == nullptr || constraints->num_check <= 1) &&
		   definition::fault_of_table(table) == nullptr;
}

bool
check_claims(const Subject &subject, Relation table)
{
	check_sweeps(subject);
	if (!subject.may_read)
		return false;
	if (is_as_created(subject, table))
		return true;
	const Compiled compiled = compile(subject);
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
	if (!compiled.is_served)
		subject.put(
			{"claim_index_missing", Severity::warning,
			 "No index serves its claims in the order: each look for jobs reads and sorts "
			 "them.",
			 "Attach it anew in a transaction that is rolled back: the warning has the CREATE "
			 "INDEX."});
	check_path(subject, compiled);
	return compiled.path != claim::Path::portable && !compiled.has_policies;
}

} // namespace queue_ext::health
