// path.cpp - see path.hpp.

#include "../postgres.hpp"

#include "path.hpp"

namespace queue_ext::claim {

namespace {

// auto takes the first of the others that the table allows; each of these takes itself or, where the
// table does not allow that, portable.
enum ClaimPath { path_auto, path_direct, path_tid, path_portable };

} // namespace

static const config_enum_entry paths[] = {
	{"auto", path_auto, false}, {"direct", path_direct, false},
	{"tid", path_tid, false},   {"portable", path_portable, false},
	{nullptr, 0, false},
};

static int claim_path = path_auto;

void
define_path()
{
	DefineCustomEnumVariable(
		"queue_ext.claim_path", "Chooses how jobs are claimed.",
		"Without a statement (direct), by a statement over TIDs (tid) or by one that finds its rows"
		" (portable), as the table allows; auto takes the first of these.",
		&claim_path, path_auto, paths, PGC_USERSET, 0, nullptr, nullptr, nullptr);
}

bool
is_direct_allowed()
{
	return claim_path == path_auto || claim_path == path_direct;
}

bool
is_tid_allowed()
{
	return claim_path == path_auto || claim_path == path_tid;
}

} // namespace queue_ext::claim
