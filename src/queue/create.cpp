// create.cpp - queue_create: creates a managed queue and its table.
//
// All functions that make, change or drop a queue keep to one order. They check first whether the
// caller may do it: create a table in the schema, or change the table. Then they lock the queues of
// the table, the table in ACCESS SHARE mode, the queue's name, and last the table as the command
// needs it, in this order, so that they cannot deadlock with each other. (A table that is yet to be
// created is locked by its creation.) The tables are created, altered and dropped by ordinary
// commands as the caller, so PostgreSQL checks the privileges, too.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../catalog/citus.hpp"
#include "../compat.hpp"
#include "../definition/archive_table.hpp"
#include "../definition/dead_queue.hpp"
#include "../definition/keep.hpp"
#include "../definition/managed.hpp"
#include "../definition/name.hpp"
#include "../definition/open.hpp"
#include "../definition/registry.hpp"
#include "../definition/settings.hpp"
#include "../definition/table_command.hpp"
#include "../error.hpp"
#include "../schedule/store.hpp"
#include "../statement/search_path.hpp"
#include "../stats/transaction_counters.hpp"
#include "../unique/history.hpp"
#include "../wake/trigger.hpp"

namespace queue_ext::queue {

using definition::Name;
using definition::OnExpire;
using definition::Options;

QUEUE_EXT_FUNCTION(queue_ext_queue_create);

// Returns the schema of a new queue: that of the name, or the one in which CREATE TABLE would
// create a table without a schema. Raises 42501 if the caller has no CREATE privilege on it. Locks
// the schema, so that it cannot be dropped.
static Oid
creation_schema(const Name &name)
{
	RangeVar *target =
		makeRangeVar(name.is_qualified() ? pstrdup(name.schema) : nullptr, pstrdup(name.name), -1);
	const Oid schema = RangeVarGetCreationNamespace(target);
	if (compat::check_schema(schema, GetUserId(), ACL_CREATE) != ACLCHECK_OK)
		error::no_right_on_schema(get_namespace_name(schema), "CREATE");
	return RangeVarGetAndCheckCreationNamespace(target, NoLock, nullptr);
}

// Also deletes what queue_unique_job has of tables that DROP TABLE has dropped: no function of ours
// ran then.
static Oid
create(const text *name_text, const Options &options, const char *dead_queue_name, bool archived,
	   bool has_kinds)
{
	const char *written = text_to_cstring(name_text);
	Name name = definition::parse_name(written);
	const Oid schema = creation_schema(name);
	strlcpy(name.schema, get_namespace_name(schema), NAMEDATALEN);
	Oid dead = InvalidOid;
	if (dead_queue_name != nullptr)
		dead = definition::find_dead_queue(
			dead_queue_name, {InvalidOid, GetUserId(), isTempNamespace(schema), name.name, schema});

	definition::lock_name_in(schema, name.name);
	if (OidIsValid(definition::find_source(name, written, nullptr)))
		error::queue_exists(definition::to_text(name));

	if (definition::is_left_behind(get_relname_relid(name.name, schema)))
		error::table_left_behind(name.name, written);

	const char *table = pstrdup(quote_qualified_identifier(name.schema, name.name));
	statement::run_command(psprintf(definition::create_table_text, table, *options.max_attempts));
	const Oid source = get_relname_relid(name.name, schema);
	const statement::Named named{source, table};
	statement::check_named(named);
	catalog::check_not_distributed(source);
	definition::run_command_on(named, psprintf(definition::create_claim_index_text, table));
	definition::run_command_on(named, psprintf(definition::create_unique_index_text, table));
	definition::run_command_on(named, psprintf(definition::create_dead_index_text, table));
	if (has_kinds)
		definition::run_command_on(named, psprintf(definition::create_kind_index_text, table));
	if (options.on_expire != nullptr)
		definition::run_command_on(named, psprintf(definition::create_expiry_index_text, table));
	const Interval archive_keep = definition::interval_or_zero(options.archive_keep);
	const Oid archive = archived ? definition::make_archive(source, archive_keep) : InvalidOid;

	unique::forget_dropped();
	schedule::forget_schedules_of_dropped();
	Options stored = options;
	stored.is_archived = &archived;
	if (archived)
		stored.archive = &archive;
	if (OidIsValid(dead))
		stored.dead_queue = &dead;
	insert_definition({name.name, source, true, "update",
					   definition::managed_fragments(definition::Layout::second),
					   statement::bare_search_path},
					  stored);
	const char *dead_queue = OidIsValid(dead) ? definition::qualified_name(dead) : nullptr;
	definition::write_comment(
		source, {*options.lease, *options.backoff_base, *options.backoff_cap, *options.max_attempts,
				 archived, archive_keep, definition::interval_or_zero(options.dead_keep),
				 dead_queue, options.on_expire == nullptr ? OnExpire::none : *options.on_expire});
	wake::create_wake_trigger(source, true);
	stats::note_begin(source, name.name, true, true);
	return source;
}

Datum
queue_ext_queue_create(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_create()");
	const text *name = argument::required_text(fcinfo, 0, "queue");
	const int32 max_attempts = argument::required_int32(fcinfo, 2, "max_attempts");
	error::check_range("max_attempts", max_attempts, 1, definition::max_attempts_limit);
	argument::check_not_null(fcinfo, 5, "archive");

	Options options{};
	options.lease = argument::required_duration(fcinfo, 1, "lease");
	options.max_attempts = &max_attempts;
	options.backoff_base = argument::required_positive(fcinfo, 3, "backoff_base");
	options.backoff_cap = argument::required_positive(fcinfo, 4, "backoff_cap");
	// SQL objects of 0.1 have no arguments for them.
	bool has_kinds = false;
	if (PG_NARGS() > 6) {
		argument::check_not_null(fcinfo, 6, "kinds");
		has_kinds = PG_GETARG_BOOL(6);
		options.archive_keep = argument::optional_keep(fcinfo, 7, "archive_keep");
		options.dead_keep = argument::optional_keep(fcinfo, 8, "dead_keep");
	}
	const char *dead_queue = PG_NARGS() > 9 ? argument::optional_string(fcinfo, 9) : nullptr;
	const OnExpire on_expire = PG_NARGS() > 10
								   ? definition::on_expire_of(argument::optional_string(fcinfo, 10))
								   : OnExpire::none;
	if (on_expire != OnExpire::none)
		options.on_expire = &on_expire;
	const bool archived = PG_GETARG_BOOL(5);
	if (!archived && on_expire == OnExpire::archive)
		error::expire_without_archive();
	if (!archived && !definition::is_for_ever(definition::interval_or_zero(options.archive_keep)))
		error::keep_without_archive();
	PG_RETURN_OID(create(name, options, dead_queue, archived, has_kinds));
}

} // namespace queue_ext::queue
