// subtransaction.hpp - runs code that may raise an expected error.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::statement {

// Whether somebody ends the statement, or a timeout does: not a function of the user's, which may raise the same
// SQLSTATEs. A lock_timeout concerns a lock alone, and a stack that is too deep the function.
inline bool
is_interrupt(const ErrorData *error)
{
	return error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE &&
		   error->sqlerrcode != ERRCODE_STATEMENT_TOO_COMPLEX && error->filename != nullptr &&
		   strcmp(error->filename, "postgres.c") == 0;
}

// Within PG_CATCH(): rolls the subtransaction back and returns its error, in the context.
inline ErrorData *
roll_back(MemoryContext context, ResourceOwner owner)
{
	MemoryContextSwitchTo(context);
	ErrorData *error = CopyErrorData();
	FlushErrorState();
	RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return error;
}

// Runs body in a subtransaction. True if the subtransaction committed; its locks pass to the parent
// then. False if body raised an error for which is_expected(const ErrorData *) holds: the
// subtransaction is rolled back and its resources are released. Any other error is raised again.
template <typename Body, typename IsExpected>
bool
in_subtransaction(Body &&body, IsExpected &&is_expected)
{
	const MemoryContext context = CurrentMemoryContext;
	const ResourceOwner owner = CurrentResourceOwner;
	volatile bool is_done = true;

	BeginInternalSubTransaction(nullptr);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		body();
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData *error = roll_back(context, owner);
		if (!is_expected(error))
			ReThrowError(error);
		FreeErrorData(error);
		is_done = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return is_done;
}

// Runs body, which returns whether its subtransaction is to commit, and returns that. If not it is rolled back, which
// releases its locks. Raises what body raises.
template <typename Body>
bool
committed_if(Body &&body)
{
	const MemoryContext context = CurrentMemoryContext;
	const ResourceOwner owner = CurrentResourceOwner;
	volatile bool is_to_commit = false;
	BeginInternalSubTransaction(nullptr);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		is_to_commit = body();
	}
	PG_CATCH();
	{
		ReThrowError(roll_back(context, owner));
	}
	PG_END_TRY();
	if (is_to_commit)
		ReleaseCurrentSubTransaction();
	else
		RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return is_to_commit;
}

// Runs body in a subtransaction that is rolled back, which releases its locks. Raises what body
// raises.
template <typename Body>
void
rolled_back(Body &&body)
{
	(void) committed_if([&] {
		body();
		return false;
	});
}

} // namespace queue_ext::statement
