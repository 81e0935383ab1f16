// claims_kept.cpp - see claims_kept.hpp.

#include "../postgres.hpp"

#include "claims_kept.hpp"

namespace queue_ext::claim {

const char *
act_of(ClaimStatement which)
{
	switch (which) {
		case ClaimStatement::claim_by_tid:
		case ClaimStatement::claim_one_by_tid:
		case ClaimStatement::claim_locked_by_tid:
		case ClaimStatement::claim_located:
			return "claim (\"pending\", \"order_by\", \"on_claim\") from";
		case ClaimStatement::fill_head:
			return "search (\"pending\", \"order_by\") in";
		case ClaimStatement::any_pending:
		case ClaimStatement::any_pending_of_one:
		case ClaimStatement::any_pending_of_some:
		case ClaimStatement::due_rows:
		case ClaimStatement::recheck:
			return "search (\"pending\") in";
		case ClaimStatement::send_occurrence:
			return "next occurrence of a schedule in";
		case ClaimStatement::remove_occurrence:
		case ClaimStatement::drop_occurrence:
		case ClaimStatement::unclaimed:
			return "occurrence of a schedule in";
		case ClaimStatement::move_failed:
		case ClaimStatement::look_for_dead:
		case ClaimStatement::look_behind_dead:
		case ClaimStatement::lock_dead:
		case ClaimStatement::move_dead:
		case ClaimStatement::move_behind_dead:
		case ClaimStatement::dead_stay:
			return "move of dead jobs from";
		case ClaimStatement::look_for_expired:
		case ClaimStatement::lock_expired:
		case ClaimStatement::find_expired:
		case ClaimStatement::end_expired:
		case ClaimStatement::expired_stay:
			return "end of expired jobs in";
	}
	pg_unreachable();
}

definition::KeptStatement
kept_for_claims(definition::Definition *definition, ClaimStatement which)
{
	return definition::kept_statement<ClaimsKept>(definition, which, act_of(which));
}

} // namespace queue_ext::claim
