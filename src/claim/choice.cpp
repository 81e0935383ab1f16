// choice.cpp - see choice.hpp.

#include "../postgres.hpp"

#include "choice.hpp"

#include "../row/rights.hpp"
#include "../wake/written.hpp"
#include "writer.hpp"

namespace queue_ext::claim {

using definition::ClaimMode;
using definition::Definition;

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

static bool
is_tid_allowed()
{
	return claim_path == path_auto || claim_path == path_tid;
}

// The privileges that the executor would check for a claim in that mode.
static AclMode
rights_for(ClaimMode mode)
{
	return mode == ClaimMode::session ? ACL_SELECT : ACL_SELECT | ACL_UPDATE;
}

// What keeps claims of this caller from the path by TID. The statement reads TIDs, for which columns'
// privileges do not suffice.
static Obstacle
find_tid_obstacle(const Definition *definition)
{
	if (ring_claim_of(definition)->policies_use.opaque != nullptr &&
		has_policies_for_caller(definition))
		return {"a row security policy calls a function that may depend on its caller",
				"Declare the function immutable if it is, or write it as one SQL expression."};
	if (pg_class_aclcheck(definition->source, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		return {"the caller has no SELECT privilege on the whole table",
				"Grant SELECT on the table, not on its columns."};
	return {};
}

// What keeps claims of this caller from being direct. Not within another evaluation of the same
// expressions.
static Obstacle
find_direct_obstacle(const Definition *definition)
{
	if (has_policies_for_caller(definition))
		return {"row security applies to the caller",
				"It does not apply to the table's owner, unless it is forced, nor to roles with "
				"BYPASSRLS."};
	if (row::has_permission_hook())
		return {"an extension checks the privileges of statements", nullptr};
	if (!row::has_rights(definition->source, rights_for(definition->claim_mode)))
		return {"the caller has no UPDATE privilege on the whole table",
				"Grant UPDATE on the table, not on its columns."};
	if (is_writing(definition))
		return {"a claim of the queue is running further up the stack", nullptr};
	return {};
}

// Of the paths that are possible, the setting allows one, or all.
Choice
choose_path(Definition *definition)
{
	if (!is_direct_allowed() && !is_tid_allowed())
		return {Path::portable, {"queue_ext.claim_path is portable", "Set it to auto."}};
	const CompiledClaim *claim = compiled_claim_of(definition);
	if (claim->path == Path::portable)
		return {Path::portable, claim->obstacle};
	if (wake::has_unlisted(definition->source) ||
		(!ring_claim_of(definition)->key.is_sorted && wake::has_offers(definition->source)))
		return {Path::portable,
				{"this transaction has made rows of the table claimable",
				 "Claims of later transactions take another path."}};
	const Obstacle to_direct =
		claim->path == Path::direct ? find_direct_obstacle(definition) : claim->obstacle;
	if (to_direct.reason == nullptr && is_direct_allowed())
		return {Path::direct, {}};
	const Obstacle to_tid = find_tid_obstacle(definition);
	if (to_tid.reason != nullptr)
		return {Path::portable, to_tid};
	if (!is_direct_allowed())
		return {Path::tid, {"queue_ext.claim_path is tid", "Set it to auto."}};
	return {is_tid_allowed() ? Path::tid : Path::portable, to_direct};
}

const char *
name_of(Path path)
{
	switch (path) {
		case Path::direct:
			return "direct";
		case Path::tid:
			return "tid";
		case Path::portable:
			return "portable";
	}
	pg_unreachable();
}

} // namespace queue_ext::claim
