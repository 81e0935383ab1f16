// rights.cpp - see rights.hpp.

#include "../postgres.hpp"

#include "rights.hpp"

#include "../catalog/own_table.hpp"
#include "../compat.hpp"
#include "../definition/name.hpp"
#include "../row/rights.hpp"

namespace queue_ext::health {

static const char *
caller()
{
	return quote_identifier(GetUserNameFromId(GetUserId(), false));
}

static bool
may_select(Oid relation)
{
	return pg_class_aclcheck(relation, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
}

// what: of the queue; untold: what is left out.
static void
tell(const Subject &subject, Oid relation, const char *what, const char *untold)
{
	const bool is_hidden = may_select(relation);
	const char *kind = get_rel_relkind(relation) == RELKIND_SEQUENCE ? "SEQUENCE " : "";
	subject.put({"not_permitted", Severity::warning,
				 psprintf("Role %s may not read %s%s: nothing is told of %s.", caller(),
						  is_hidden ? "all rows of " : "", what, untold),
				 is_hidden ? "Call it as a role to which no row security applies, such as one with "
							 "BYPASSRLS."
						   : psprintf("GRANT SELECT ON %s%s TO %s;", kind,
									  definition::qualified_name(relation), caller())});
}

// Columns that are no identity have no sequence that is looked at.
static Oid
sequence_of(Relation table)
{
	const AttrNumber column = get_attnum(RelationGetRelid(table), "id");
	return column > 0 ? compat::identity_sequence(table, column) : InvalidOid;
}

void
check_rights(const Subject &subject, Relation table)
{
	const definition::Definition *definition = subject.definition;
	if (!subject.may_read) {
		tell(subject, definition->source, "its table", "its jobs and claims");
		return;
	}
	if (!definition->is_managed)
		return;
	const Oid sequence = sequence_of(table);
	if (OidIsValid(sequence) && !may_select(sequence))
		tell(subject, sequence, "its sequence", "the ids to come");
	if (definition->is_archived && definition->archive_name != nullptr &&
		!row::may_read_all(definition->archive))
		tell(subject, definition->archive, "its archive", "the jobs and ids in that");
}

void
check_server_rights(const Findings &findings, bool may_count)
{
	if (!has_privs_of_role(GetUserId(), get_role_oid("pg_read_all_stats", false)))
		put(findings, nullptr,
			{"not_permitted", Severity::warning,
			 psprintf("Role %s may not see what other roles do: nothing is told of their "
					  "transactions, nor of standbys.",
					  caller()),
			 psprintf("GRANT pg_read_all_stats TO %s;", caller())});
	if (!may_count)
		put(findings, nullptr,
			{"not_permitted", Severity::warning,
			 psprintf("Role %s may not see the statistics of queues: nothing is told of leases "
					  "that end, nor of jobs behind many others.",
					  caller()),
			 psprintf("GRANT EXECUTE ON FUNCTION %s.queue_stats_counters() TO %s;",
					  quote_identifier(catalog::own_schema()), caller())});
}

} // namespace queue_ext::health
