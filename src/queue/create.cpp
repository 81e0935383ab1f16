// create.cpp - queue_create, queue_alter, queue_drop, queue_pause, queue_resume.
//
// Each checks first whether the caller may: make a table in the schema, or change the
// table. Then it locks the queues of the table, the queue's name, and last the table, in
// that order, so they cannot deadlock with each other. The tables are made, altered and
// dropped by ordinary commands as the caller, so PostgreSQL checks the privileges, too.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../claim/wake_trigger.hpp"
#include "../definition/managed.hpp"
#include "../definition/name.hpp"
#include "../definition/open.hpp"
#include "../definition/registry.hpp"
#include "../definition/settings.hpp"
#include "../definition/shape.hpp"
#include "../error.hpp"
#include "../statement/search_path.hpp"
#include "../unique/memory.hpp"

namespace queue_ext::queue {

using definition::Name;
using definition::Definition;
using definition::Options;
using definition::Use;

QUEUE_EXT_FUNCTION(queue_ext_queue_create);
QUEUE_EXT_FUNCTION(queue_ext_queue_alter);
QUEUE_EXT_FUNCTION(queue_ext_queue_drop);
QUEUE_EXT_FUNCTION(queue_ext_queue_pause);
QUEUE_EXT_FUNCTION(queue_ext_queue_resume);

// The schema a new queue goes to: the name's own, or where CREATE TABLE would put
// an unqualified table. Raises 42501 where the caller may not make one; keeps the schema
// from being dropped.
static Oid
creation_schema(const Name &name)
{
	RangeVar *target =
		makeRangeVar(name.is_qualified() ? pstrdup(name.schema) : nullptr, pstrdup(name.name), -1);
	return RangeVarGetAndCheckCreationNamespace(target, NoLock, nullptr);
}

static Oid
create(const text *name_text, const Options &options, bool archived)
{
	const char *written = text_to_cstring(name_text);
	Name name = definition::parse_name(written);
	const Oid schema = creation_schema(name);
	strlcpy(name.schema, get_namespace_name(schema), NAMEDATALEN);

	definition::lock_name_in(schema, name.name);
	if (OidIsValid(definition::find_source(name, written, nullptr)))
		error::queue_exists(definition::to_text(name));

	if (definition::is_left_behind(get_relname_relid(name.name, schema)))
		error::table_left_behind(name.name, written);

	const char *table = pstrdup(quote_qualified_identifier(name.schema, name.name));
	statement::run_command(psprintf(definition::create_table_text, table, *options.max_attempts));
	statement::run_command(psprintf(definition::create_claim_index_text, table));
	statement::run_command(psprintf(definition::create_unique_index_text, table));
	const Oid source = get_relname_relid(name.name, schema);
	definition::check_is_there(source, table);
	const Oid archive = archived ? definition::make_archive(source) : InvalidOid;

	unique::forget_dropped();
	Options stored = options;
	stored.is_archived = &archived;
	if (archived)
		stored.archive = &archive;
	insert_definition({name.name, source, true, "update", definition::managed_fragments,
					   statement::bare_search_path},
					  stored);
	definition::write_comment(source, {*options.lease, *options.backoff_base, *options.backoff_cap,
									   *options.max_attempts, archived});
	claim::create_wake_trigger(source, true);
	return source;
}

static void
alter(const text *name, Options options, const bool *archived)
{
	const Definition *definition = open_queue(name, Use::own);
	if (!definition->is_managed && (options.max_attempts != nullptr || archived != nullptr))
		error::not_managed(definition->name, "Only its lease and backoff can be altered; detach it "
											 "and attach it anew to change more.");
	if (options.max_attempts != nullptr)
		definition::run_command_on(
			definition->source, psprintf("alter table %s alter column max_attempts set default %d",
										 definition->source_name, *options.max_attempts));
	// The archive that was switched off is kept, and comes back.
	Oid archive = InvalidOid;
	options.is_archived = archived;
	if (archived != nullptr && *archived && definition->archive_name == nullptr) {
		archive = definition::make_archive(definition->source);
		options.archive = &archive;
	}
	update_definition(definition->name, definition->source, options);
	Definition now{};
	if (definition->is_managed && definition::read_definition(definition->source, definition->name,
															  CurrentMemoryContext, &now))
		definition::write_comment(definition->source, {now.lease, now.backoff_base, now.backoff_cap,
													   now.max_attempts, now.is_archived});
}

// False when the queue is as wanted already.
static bool
set_paused(const text *name, bool is_paused)
{
	const Definition *definition = open_queue(name, Use::own);
	if (definition->is_paused == is_paused)
		return false;
	Options options{};
	options.is_paused = &is_paused;
	update_definition(definition->name, definition->source, options);
	return true;
}

// False when there is no such queue.
static bool
drop(const text *name)
{
	const Definition *definition = open_queue_if_exists(name, Use::own);
	if (definition == nullptr)
		return false;
	if (!definition->is_managed)
		error::not_managed(definition->name, "Use queue_detach(), which leaves the table alone.");
	definition::lock_name_in(get_rel_namespace(definition->source), definition->name);
	definition::delete_definition(definition->name, definition->source);
	if (definition->is_archived && definition->archive_name != nullptr)
		statement::run_command(psprintf("drop table %s", definition->archive_name));
	statement::run_command(psprintf("drop table %s", definition->source_name));
	// Now that nobody inserts any more.
	(void) unique::forget_all(definition->source);
	return true;
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
	options.lease = argument::required_positive(fcinfo, 1, "lease");
	options.max_attempts = &max_attempts;
	options.backoff_base = argument::required_positive(fcinfo, 3, "backoff_base");
	options.backoff_cap = argument::required_positive(fcinfo, 4, "backoff_cap");
	PG_RETURN_OID(create(name, options, PG_GETARG_BOOL(5)));
}

Datum
queue_ext_queue_alter(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_alter()");
	const text *name = argument::required_text(fcinfo, 0, "queue");
	const int32 max_attempts = PG_ARGISNULL(2) ? 1 : PG_GETARG_INT32(2);
	error::check_range("max_attempts", max_attempts, 1, definition::max_attempts_limit);
	const bool archived = !PG_ARGISNULL(5) && PG_GETARG_BOOL(5);

	Options options{};
	options.lease = argument::optional_positive(fcinfo, 1, "lease");
	options.max_attempts = PG_ARGISNULL(2) ? nullptr : &max_attempts;
	options.backoff_base = argument::optional_positive(fcinfo, 3, "backoff_base");
	options.backoff_cap = argument::optional_positive(fcinfo, 4, "backoff_cap");
	alter(name, options, PG_ARGISNULL(5) ? nullptr : &archived);
	PG_RETURN_VOID();
}

Datum
queue_ext_queue_drop(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_drop()");
	const text *name = argument::required_text(fcinfo, 0, "queue");
	argument::check_not_null(fcinfo, 1, "if_exists");
	const bool is_dropped = drop(name);
	if (!is_dropped && !PG_GETARG_BOOL(1))
		definition::raise_no_such_queue(text_to_cstring(name));
	PG_RETURN_BOOL(is_dropped);
}

Datum
queue_ext_queue_pause(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_pause()");
	PG_RETURN_BOOL(set_paused(argument::required_text(fcinfo, 0, "queue"), true));
}

Datum
queue_ext_queue_resume(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_resume()");
	PG_RETURN_BOOL(set_paused(argument::required_text(fcinfo, 0, "queue"), false));
}

} // namespace queue_ext::queue
