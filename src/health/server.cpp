// server.cpp - see server.hpp.

#include "../postgres.hpp"

#include "server.hpp"

#include "../catalog/own_table.hpp"
#include "../compat.hpp"
#include "../definition/name.hpp"
#include "../row/rights.hpp"
#include "../statement/statement.hpp"

namespace queue_ext::health {

using statement::Statement;

// Who keeps VACUUM from removing dead rows of this database: $1 microseconds by the clock where there
// is one, else a million transactions, as each may have left dead rows. A VACUUM's own snapshot holds
// nothing back. Parallel workers end with their leader. The catalog_xmin of a logical slot holds back
// catalogs only.
static constexpr const char *holders_text =
	"with patience(moment) as (select pg_catalog.clock_timestamp() operator(pg_catalog.-)"
	"  pg_catalog.make_interval(secs => $1 operator(pg_catalog./) 1e6)),"
	" most(transactions) as (values (1000000))"
	" select 'vacuum_held_by_transaction', pg_catalog.format("
	"   'Process %s, of role \"%s\", has a transaction open since %s (%s), %s transactions ago.',"
	"   a.pid, a.usename, a.xact_start, a.state,"
	"   pg_catalog.age(coalesce(a.backend_xmin, a.backend_xid))),"
	"  pg_catalog.format('SELECT pg_terminate_backend(%s); idle_in_transaction_session_timeout ends"
	" the idle ones.', a.pid)"
	" from pg_catalog.pg_stat_activity as a, patience as p"
	" where a.xact_start operator(pg_catalog.<=) p.moment"
	"  and a.datname operator(pg_catalog.=) pg_catalog.current_database()"
	"  and a.pid operator(pg_catalog.<>) pg_catalog.pg_backend_pid()"
	"  and a.backend_type operator(pg_catalog.<>) 'parallel worker'"
	"  and coalesce(a.backend_xmin, a.backend_xid) is not null"
	"  and not exists (select from pg_catalog.pg_stat_progress_vacuum as v"
	"   where v.pid operator(pg_catalog.=) a.pid)"
	" union all select 'vacuum_held_by_prepared_transaction', pg_catalog.format("
	"   'Transaction %L, of role \"%s\", was prepared at %s, %s transactions ago.', t.gid, t.owner,"
	"   t.prepared, pg_catalog.age(t.transaction)),"
	"  pg_catalog.format('COMMIT PREPARED %L; or ROLLBACK PREPARED %L;', t.gid, t.gid)"
	" from pg_catalog.pg_prepared_xacts as t, patience as p"
	" where t.prepared operator(pg_catalog.<=) p.moment"
	"  and t.database operator(pg_catalog.=) pg_catalog.current_database()"
	" union all select 'vacuum_held_by_slot', pg_catalog.format("
	"   'Replication slot \"%s\"%s keeps what was dead %s transactions ago.', s.slot_name,"
	"   case when s.active then '' else ', which nobody uses,' end, pg_catalog.age(s.xmin)),"
	"  case when s.active then 'End old transactions on that standby, or turn off its"
	" hot_standby_feedback.'"
	"   else pg_catalog.format('SELECT pg_drop_replication_slot(%L);', s.slot_name) end"
	" from pg_catalog.pg_replication_slots as s, most as m"
	" where pg_catalog.age(s.xmin) operator(pg_catalog.>=) m.transactions"
	" union all select 'vacuum_held_by_standby', pg_catalog.format("
	"   'Standby \"%s\" (%s) keeps what was dead %s transactions ago.', r.application_name,"
	"   coalesce(r.client_addr::pg_catalog.text, 'local'), pg_catalog.age(r.backend_xmin)),"
	"  'End old transactions on that standby, or turn off its hot_standby_feedback.'"
	" from pg_catalog.pg_stat_replication as r, most as m"
	" where pg_catalog.age(r.backend_xmin) operator(pg_catalog.>=) m.transactions";

static void
put_holders(const Findings &findings)
{
	const TupleDesc descriptor = SPI_tuptable->tupdesc;
	for (uint64 i = 0; i < SPI_tuptable->numvals; i++) {
		HeapTuple row = SPI_tuptable->vals[i];
		put(findings, nullptr,
			{SPI_getvalue(row, descriptor, 1), Severity::warning, SPI_getvalue(row, descriptor, 2),
			 SPI_getvalue(row, descriptor, 3)});
	}
}

// A standby does not VACUUM; what its own transactions hold back, the primary tells.
void
check_vacuum(const Findings &findings)
{
	if (RecoveryInProgress())
		return;
	statement::with_spi([&] {
		Statement prepared{};
		const Oid types[] = {FLOAT8OID};
		statement::prepare(&prepared, holders_text, types, lengthof(types),
						   statement::Access::anywhere, {}, {"check", nullptr});
		const Statement statement = prepared;
		statement::discard_later(&prepared);
		const Datum values[] = {Float8GetDatum(static_cast<double>(patience_us()))};
		statement::run(statement, values, " ");
		put_holders(findings);
	});
}

// A library of a later version serves the objects, but for what they lack.
void
check_version(const Findings &findings)
{
	const char *installed = catalog::installed_version();
	if (installed == nullptr)
		return;
	int parts[2][2] = {};
	(void) sscanf(installed, "%d.%d", &parts[0][0], &parts[0][1]);
	(void) sscanf(QUEUE_EXT_VERSION, "%d.%d", &parts[1][0], &parts[1][1]);
	const bool is_older =
		parts[0][0] != parts[1][0] ? parts[0][0] < parts[1][0] : parts[0][1] < parts[1][1];
	if (is_older)
		put(findings, nullptr,
			{"extension_outdated", Severity::warning,
			 psprintf(
				 "The library is of version %s, the extension's objects in this database are of "
				 "%s.",
				 QUEUE_EXT_VERSION, installed),
			 "ALTER EXTENSION queue_ext UPDATE;"});
}

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

// what: the relation, in words; untold: what the findings leave out.
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
