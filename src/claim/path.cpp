// path.cpp - see path.hpp.

#include "../postgres.hpp"

#include "path.hpp"

namespace queue_ext::claim {

namespace {

// auto and direct mean the same: the direct path where the table allows it.
enum ClaimPath { path_auto, path_direct, path_portable };

} // namespace

static const config_enum_entry paths[] = {
	{"auto", path_auto, false},
	{"direct", path_direct, false},
	{"portable", path_portable, false},
	{nullptr, 0, false},
};

static int claim_path = path_auto;

void
define_path()
{
	DefineCustomEnumVariable(
		"queue_ext.claim_path", "Chooses how jobs are claimed.",
		"Direct where the table allows it, which auto and direct choose, or by a statement.",
		&claim_path, path_auto, paths, PGC_USERSET, 0, nullptr, nullptr, nullptr);
}

bool
is_direct_allowed()
{
	return claim_path != path_portable;
}

} // namespace queue_ext::claim
