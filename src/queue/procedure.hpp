// procedure.hpp - what procedures that commit have in common.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::queue {

// Whether the procedure may commit: neither in a transaction block, nor in a function, nor in a block
// of PL/pgSQL that handles exceptions.
inline bool
can_commit(FunctionCallInfo fcinfo)
{
	const Node *context = fcinfo->context;
	return context != nullptr && IsA(context, CallContext) &&
		   !reinterpret_cast<const CallContext *>(context)->atomic && !IsSubTransaction();
}

// The argument, whole and in memory that outlives a commit. Null if it is null.
inline const text *
copy_text(FunctionCallInfo fcinfo, int n)
{
	return PG_ARGISNULL(n) ? nullptr : PG_GETARG_TEXT_P_COPY(n);
}

} // namespace queue_ext::queue
