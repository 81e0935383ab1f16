// adopt.cpp - queue_adopt: makes the table of a former managed queue a queue again.
//
// Checks and locks come in the order that create.cpp describes.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../catalog/lock_found.hpp"
#include "../catalog/owner.hpp"
#include "../claim/given_back.hpp"
#include "../definition/archive_table.hpp"
#include "../definition/dead_queue.hpp"
#include "../definition/keep.hpp"
#include "../definition/managed.hpp"
#include "../definition/name.hpp"
#include "../definition/queue_indexes.hpp"
#include "../definition/registry.hpp"
#include "../definition/settings.hpp"
#include "../definition/shape.hpp"
#include "../definition/table_command.hpp"
#include "../error.hpp"
#include "../statement/search_path.hpp"
#include "../statement/subtransaction.hpp"
#include "../stats/transaction_counters.hpp"
#include "../wake/trigger.hpp"

namespace queue_ext::queue {

using definition::Name;
using definition::Settings;

QUEUE_EXT_FUNCTION(queue_ext_queue_adopt);

// Locks the queues of the table with that name, then the table (ACCESS SHARE), and returns it.
// Raises 42P01 if there is no such table, 42501 if the caller does not own it.
static Oid
lock_own_table(const Name &name, const char *written)
{
	return catalog::lock_found([&]() -> catalog::Wanted {
		const Oid table = definition::find_table(name);
		if (!OidIsValid(table))
			error::no_table_to_adopt(definition::to_text(name), written);
		catalog::check_owner(table);
		definition::lock_queues_of(table);
		return {table, AccessShareLock};
	});
}

// Raises 42809 or 0A000 if the table cannot carry a queue, 55000 if it does not have the shape of a
// managed queue's table.
static void
check_shape(Oid table)
{
	Relation relation = table_open(table, NoLock);
	definition::check_can_carry(relation);
	const char *fault = definition::fault_of_table(table);
	if (fault != nullptr)
		error::not_a_queues_table(RelationGetRelationName(relation), fault);
	table_close(relation, NoLock);
}

// Returns the default of the column max_attempts if it is a constant in range, else that of
// queue_create.
static int32
default_max_attempts(Oid table)
{
	Relation relation = table_open(table, NoLock);
	const Node *value = build_column_default(relation, get_attnum(table, "max_attempts"));
	int32 found = definition::default_settings.max_attempts;
	if (value != nullptr && IsA(value, Const)) {
		const auto *constant = reinterpret_cast<const Const *>(value);
		const int32 number = DatumGetInt32(constant->constvalue);
		if (!constant->constisnull && number >= 1 && number <= definition::max_attempts_limit)
			found = number;
	}
	table_close(relation, NoLock);
	return found;
}

// Returns the settings in the table's comment. Without such a comment they are those of
// queue_create, except for the default of max_attempts and the existence of an archive.
static Settings
settings_of(Oid table)
{
	Settings settings = definition::default_settings;
	if (read_comment(table, &settings))
		return settings;
	settings.max_attempts = default_max_attempts(table);
	settings.is_archived = OidIsValid(definition::find_archive(table));
	return settings;
}

// Moves the sequence of id up to the highest ID in the table and its archive if it is behind that,
// as after logical replication, which does not replicate sequences.
static void
advance_sequence(Oid table, Oid archive)
{
	const char *name = definition::qualified_name(table);
	const char *of_archive = OidIsValid(archive) ? psprintf("(select pg_catalog.max(id) from %s)",
															definition::qualified_name(archive))
												 : "0";
	definition::run_newest_on(
		{table, name},
		// Calls nextval(), since last_value does not tell the next ID after a RESTART.
		psprintf("select case when n operator(pg_catalog.>) m then pg_catalog.setval(s, n, false)"
				 " else pg_catalog.setval(s, m) end from (select s::pg_catalog.regclass, m,"
				 " pg_catalog.nextval(s::pg_catalog.regclass) from (select"
				 " pg_catalog.pg_get_serial_sequence(%s, 'id'),"
				 " greatest((select pg_catalog.max(id) from %s), %s)) as t(s, m)"
				 " where m operator(pg_catalog.>) 0 and s is not null) as u(s, m, n)",
				 quote_literal_cstr(name), name, of_archive));
}

// As find_kept_dead_queue(), and InvalidOid also where the name in the comment is none, or the caller may not look it up.
static Oid
kept_dead_queue(const char *written, Oid table)
{
	volatile Oid found = InvalidOid;
	(void) statement::in_subtransaction(
		[&] { found = definition::find_kept_dead_queue(written, table); },
		[](const ErrorData *error) {
			return ERRCODE_TO_CATEGORY(error->sqlerrcode) ==
				   ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION;
		});
	return found;
}

// Makes what the table lacks (archive, indexes, trigger), advances the sequence, and enters the
// queue into the registry. Raises 42710 if the table carries a managed queue or the name is taken.
static Oid
adopt(const char *written)
{
	const Name name = definition::parse_name(written);
	const Oid table = lock_own_table(name, written);
	check_shape(table);
	// The queue of the table may have another name.
	const char *known = definition::find_managed_name(table);
	if (known != nullptr)
		error::table_is_managed(get_rel_name(table), known);
	const Oid schema = get_rel_namespace(table);
	definition::lock_name_in(schema, name.name);
	Name full = name;
	strlcpy(full.schema, get_namespace_name(schema), NAMEDATALEN);
	if (OidIsValid(definition::find_source(full, written, nullptr)))
		error::queue_exists(definition::to_text(full));

	const Settings settings = settings_of(table);
	Oid archive = definition::find_archive(table);
	if (settings.is_archived && !OidIsValid(archive))
		archive = definition::make_archive(table, settings.archive_keep);
	const char *name_of_archive =
		OidIsValid(archive) ? definition::qualified_name(archive) : nullptr;
	definition::make_missing_indexes(table);
	if (settings.on_expire != definition::OnExpire::none)
		(void) definition::make_missing_expiry_index(table);
	if (name_of_archive != nullptr)
		statement::check_named({archive, name_of_archive});
	advance_sequence(table, archive);

	definition::Options options{};
	options.lease = &settings.lease;
	options.backoff_base = &settings.backoff_base;
	options.backoff_cap = &settings.backoff_cap;
	options.max_attempts = &settings.max_attempts;
	options.is_archived = &settings.is_archived;
	options.archive = OidIsValid(archive) ? &archive : nullptr;
	// SQL objects of 0.1 have no columns for them.
	if (!definition::is_for_ever(settings.archive_keep) ||
		!definition::is_for_ever(settings.dead_keep)) {
		options.archive_keep = &settings.archive_keep;
		options.dead_keep = &settings.dead_keep;
	}
	if (settings.on_expire != definition::OnExpire::none)
		options.on_expire = &settings.on_expire;
	Oid dead_queue = InvalidOid;
	if (settings.dead_queue != nullptr) {
		dead_queue = kept_dead_queue(settings.dead_queue, table);
		if (OidIsValid(dead_queue))
			options.dead_queue = &dead_queue;
		else
			error::warn_dead_queue_missing(
				name.name, quote_qualified_identifier(full.schema, full.name), settings.dead_queue);
	}
	insert_definition({name.name, table, true, "update",
					   definition::managed_fragments(definition::layout_of(table)),
					   statement::bare_search_path},
					  options);
	(void) claim::note_neighbour(table, name.name);
	write_comment(table, settings);
	wake::create_wake_trigger(table, true);
	stats::note_begin(table, name.name, true, false);
	return table;
}

Datum
queue_ext_queue_adopt(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_adopt()");
	PG_RETURN_OID(adopt(text_to_cstring(argument::required_text(fcinfo, 0, "queue"))));
}

} // namespace queue_ext::queue
