// calls_kept.hpp - what the calls of a queue keep beside its definition: the statements of sending, finishing and
// looking after jobs, each prepared when a call first needs it, and when completions next look after the archive.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::queue {

enum class CallStatement {
	send,
	send_many,
	send_kind, // sends a job with a kind
	send_many_kind,
	send_expiry, // sends a job that expires
	send_many_expiry,
	send_kind_expiry,
	send_many_kind_expiry,
	complete,
	complete_many,
	complete_timed, // which also return when the job was claimed
	complete_many_timed,
	fail_timed,
	fail_many_timed,
	fail,
	fail_many,
	released, // how many claims of jobs were given back
	release,
	release_many,
	extend,
	extend_many,
	cancel,
	cancel_many,
	cancel_told, // which also return in which states the jobs were
	cancel_many_told,
	requeue,
	requeue_many,
	requeue_expiry, // which clear the expiry
	requeue_many_expiry,
	find_result,
	remove_dead,
	complete_row,
	release_row,
	fail_row,
	extend_row,
	row_key,
	count_pending, // how many rows are
};
constexpr int call_statement_count = static_cast<int>(CallStatement::count_pending) + 1;

struct CallsKept
{
	static constexpr definition::Layer layer = definition::Layer::queue;
	statement::Statement *statements[call_statement_count]; // each is null until it is needed
	TimestampTz next_look; // when completions look for expired slots again (archive_clearing.hpp)
};

// The statement beside the definition, and what it does. Raises 53200.
definition::KeptStatement kept_for_calls(definition::Definition *definition, CallStatement which);

} // namespace queue_ext::queue
