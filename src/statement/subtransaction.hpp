// subtransaction.hpp - a piece of work that may fail in a way that is expected.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::statement {

// Runs body in a subtransaction, whose end lets go of all that it held. False, with
// everything that it did undone, after an error for which is_expected(const ErrorData *)
// holds; any other error goes on.
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
		MemoryContextSwitchTo(context);
		ErrorData *error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
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

} // namespace queue_ext::statement
