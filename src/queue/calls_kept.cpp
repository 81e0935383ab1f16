// calls_kept.cpp - see calls_kept.hpp.

#include "../postgres.hpp"

#include "calls_kept.hpp"

#include "../job/job.hpp"

namespace queue_ext::queue {

static const char *
act_of(CallStatement which)
{
	switch (which) {
		case CallStatement::send:
		case CallStatement::send_many:
		case CallStatement::send_kind:
		case CallStatement::send_many_kind:
		case CallStatement::send_expiry:
		case CallStatement::send_many_expiry:
		case CallStatement::send_kind_expiry:
		case CallStatement::send_many_kind_expiry:
			return job::act_of_send;
		case CallStatement::complete:
		case CallStatement::complete_many:
		case CallStatement::complete_timed:
		case CallStatement::complete_many_timed:
		case CallStatement::complete_row:
			return job::act_of_completion;
		case CallStatement::fail:
		case CallStatement::fail_many:
		case CallStatement::fail_timed:
		case CallStatement::released:
		case CallStatement::fail_many_timed:
		case CallStatement::fail_row:
			return "failure (\"on_fail\") in";
		case CallStatement::release:
		case CallStatement::release_many:
		case CallStatement::release_row:
			return "release (\"on_release\") in";
		case CallStatement::extend:
		case CallStatement::extend_many:
		case CallStatement::extend_row:
			return "extension (\"on_extend\") in";
		case CallStatement::cancel:
		case CallStatement::cancel_many:
		case CallStatement::cancel_told:
		case CallStatement::cancel_many_told:
			return "cancellation in";
		case CallStatement::requeue:
		case CallStatement::requeue_many:
		case CallStatement::requeue_expiry:
		case CallStatement::requeue_many_expiry:
			return "requeue in";
		case CallStatement::find_result:
			return "search of a result in";
		case CallStatement::remove_dead:
			return "removal of dead jobs from";
		case CallStatement::row_key:
			return "search by key in";
		case CallStatement::count_pending:
			return "search (\"pending\") in";
	}
	pg_unreachable();
}

definition::KeptStatement
kept_for_calls(definition::Definition *definition, CallStatement which)
{
	return definition::kept_statement<CallsKept>(definition, which, act_of(which));
}

} // namespace queue_ext::queue
