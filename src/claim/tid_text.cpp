// tid_text.cpp - see tid_text.hpp.

#include "../postgres.hpp"

#include "tid_text.hpp"

#include "../definition/compiled.hpp"
#include "claim_text.hpp"
#include "expiry_rule.hpp"

namespace queue_ext::claim {

using definition::ClaimMode;
using definition::Definition;
using statement::Parameter;

// Selects these columns of the candidates that are pending. condition: "", or beginning with
// " and ".
static const char *
candidates_text(Definition *definition, TidForm form, const char *columns, const char *condition)
{
	const char *tids = form == TidForm::many
						   ? psprintf("any (%s)", statement::placeholder(Parameter::tids))
						   : statement::placeholder(Parameter::tid);
	return psprintf("select %s from %s as t where t.ctid operator(pg_catalog.=) %s and (%s)%s%s",
					columns, definition->source_name, tids,
					definition::compiled_of(definition).pending, unexpired_condition(definition),
					condition);
}

// The statement that claims in mode update. The last column is whether the row is still pending; for
// many, the one before is the candidate's TID.
static const char *
update_text(Definition *definition, TidForm form, const char *in_leaf)
{
	const definition::Compiled &compiled = definition::compiled_of(definition);
	const bool is_for_many = form == TidForm::many;
	const char *candidates = "";
	if (form != TidForm::locked)
		candidates =
			psprintf("(%s for %s of t skip locked)",
					 candidates_text(definition, form,
									 is_for_many ? "t.ctid as candidate_tid" : "t.ctid", in_leaf),
					 lock_strength(definition));
	const char *tid = is_for_many            ? "candidate.candidate_tid"
					  : form == TidForm::one ? candidates
											 : statement::placeholder(Parameter::tid);
	// The one that was locked was asked before that, and not by a statement.
	const char *unexpired = form == TidForm::locked ? unexpired_condition(definition) : "";
	return psprintf("%s%supdate %s as t set %s%s where t.ctid operator(pg_catalog.=) %s%s%s "
					"returning t.*,%s (%s)",
					is_for_many ? "with candidate as materialized " : "",
					is_for_many ? candidates : "", definition->source_name, compiled.on_claim,
					is_for_many ? " from candidate" : "", tid, in_leaf, unexpired,
					is_for_many ? " candidate.candidate_tid," : "", compiled.pending);
}

const char *
tid_text(Definition *definition, TidForm form, Oid leaf)
{
	const char *in_leaf =
		OidIsValid(leaf)
			? psprintf(" and t.tableoid operator(pg_catalog.=) %u::pg_catalog.oid", leaf)
			: "";
	const char *condition = psprintf("%s%s", in_leaf, unknown_condition(definition));
	switch (definition->claim_mode) {
		case ClaimMode::update:
			return update_text(definition, form, in_leaf);
		case ClaimMode::transaction:
			return psprintf("%s for %s of t skip locked",
							candidates_text(definition, form,
											psprintf("t.*, t.ctid, %s", row_key(definition)),
											condition),
							lock_strength(definition));
		case ClaimMode::session:
			return candidates_text(
				definition, form,
				psprintf("%s, %s, t.ctid", row_key(definition), whole_row(definition)), condition);
	}
	pg_unreachable();
}

} // namespace queue_ext::claim
