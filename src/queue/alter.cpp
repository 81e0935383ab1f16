// alter.cpp - queue_alter: changes the settings of a queue.
//
// Checks and locks come in the order that create.cpp describes.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../catalog/owner.hpp"
#include "../definition/archive_table.hpp"
#include "../definition/dead_queue.hpp"
#include "../definition/managed.hpp"
#include "../definition/name.hpp"
#include "../definition/open.hpp"
#include "../definition/queue_indexes.hpp"
#include "../definition/registry.hpp"
#include "../definition/settings.hpp"
#include "../definition/shape.hpp"
#include "../definition/table_command.hpp"
#include "../error.hpp"
#include "../wake/trigger.hpp"

namespace queue_ext::queue {

using definition::Definition;
using definition::OnExpire;
using definition::Options;
using definition::Use;

QUEUE_EXT_FUNCTION(queue_ext_queue_alter);

// Raises 55000 for a managed queue, 42703 or 42804 unless each is null, empty, or names a column with
// times.
static void
check_ages(const Definition *definition, const definition::AgeColumns &ages)
{
	if (ages.ready_at == nullptr && ages.claimed_at == nullptr)
		return;
	if (definition->is_managed)
		error::ages_known(definition->name);
	Relation table = relation_open(definition->source, NoLock);
	definition::check_age_column(ages.ready_at, "ready_at", table);
	definition::check_age_column(ages.claimed_at, "claimed_at", table);
	relation_close(table, NoLock);
}

// Makes or drops the index by kind, unless that has been done. Raises 55000 for a table of 0.1.
static void
alter_kinds(const Definition *definition, bool has_kinds)
{
	const bool has_column = definition::has_kind(definition->source);
	if (has_kinds && !has_column)
		error::no_kinds(definition->name, definition->source_name);
	if (has_kinds)
		definition::make_kind_index(definition->source);
	else if (has_column)
		definition::drop_kind_index(definition->source);
}

// Makes the index by expiry if jobs are to expire from now on, unless that has been done; it stays when they are to no
// more, as it has those alone that were given an expiry. Raises 55000 for a table that lacks the column.
static void
alter_expiry(const Definition *definition, OnExpire on_expire)
{
	if (on_expire == OnExpire::none)
		return;
	if (!definition::has_expires_at(definition->source))
		error::column_missing(definition->name, "expires_at", definition->source_name);
	(void) definition::make_missing_expiry_index(definition->source);
}

// Makes or mends the trigger, or drops that of an attached queue. Raises 55000 where the table has a managed queue,
// which needs it.
static void
alter_wake(const Definition *definition, bool wakes)
{
	const char *managed = definition::find_managed_name(definition->source);
	if (wakes)
		wake::mend_wake_trigger(definition->source, managed != nullptr);
	else if (managed != nullptr)
		error::wake_needed(managed);
	else
		wake::drop_wake_trigger(definition->source);
}

// Null options leave a setting as it is. Raises 55000 for a setting that an attached queue does not
// have. The table's comment is written from the new row of the registry, which has the other
// settings, too.
static void
alter(const text *name, Options options, const bool *archived, const bool *kinds, const bool *wakes,
	  const char *dead_queue_name)
{
	const Definition *definition = open_queue(name, Use::own);
	check_ages(definition, options.ages);
	if (!definition->is_managed &&
		(options.max_attempts != nullptr || archived != nullptr || kinds != nullptr ||
		 options.archive_keep != nullptr || options.dead_keep != nullptr ||
		 dead_queue_name != nullptr || options.on_expire != nullptr))
		error::not_managed(definition->name,
						   "Only its lease, its backoff, ready_at, claimed_at and "
						   "wake can be altered; detach it "
						   "and attach it anew to change more.");
	Oid dead_queue = InvalidOid;
	if (dead_queue_name != nullptr) {
		const Oid source = definition->source;
		dead_queue = definition::find_dead_queue(
			dead_queue_name, {source, catalog::owner_of(source),
							  get_rel_persistence(source) == RELPERSISTENCE_TEMP});
		options.dead_queue = &dead_queue;
	}
	const bool is_archived = archived == nullptr ? definition->is_archived : *archived;
	if (!is_archived && OnExpire::archive == (options.on_expire == nullptr ? definition->on_expire
																		   : *options.on_expire))
		error::expire_without_archive();
	if (options.max_attempts != nullptr)
		definition::run_command_on(
			definition->tables[0],
			psprintf("alter table %s alter column max_attempts set default %d",
					 definition->source_name, *options.max_attempts));
	if (kinds != nullptr)
		alter_kinds(definition, *kinds);
	if (options.on_expire != nullptr)
		alter_expiry(definition, *options.on_expire);
	if (wakes != nullptr)
		alter_wake(definition, *wakes);
	// An archive that was switched off still exists and is used again.
	Oid archive = InvalidOid;
	options.is_archived = archived;
	if (archived != nullptr && *archived && definition->archive_name == nullptr) {
		archive = definition::make_archive(definition->source, options.archive_keep == nullptr
																   ? definition->archive_keep
																   : *options.archive_keep);
		options.archive = &archive;
	}
	update_definition(definition->name, definition->source, options);
	definition::write_registered_comment(definition->source, definition->name);
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
	options.lease = argument::optional_duration(fcinfo, 1, "lease");
	options.max_attempts = PG_ARGISNULL(2) ? nullptr : &max_attempts;
	options.backoff_base = argument::optional_positive(fcinfo, 3, "backoff_base");
	options.backoff_cap = argument::optional_positive(fcinfo, 4, "backoff_cap");
	// SQL objects of 0.1 have none of the arguments that follow.
	if (PG_NARGS() > 6)
		options.ages = {argument::optional_string(fcinfo, 6), argument::optional_string(fcinfo, 7)};
	const bool has_kinds = PG_NARGS() > 8 && !PG_ARGISNULL(8) && PG_GETARG_BOOL(8);
	if (PG_NARGS() > 8) {
		options.archive_keep = argument::optional_keep(fcinfo, 9, "archive_keep");
		options.dead_keep = argument::optional_keep(fcinfo, 10, "dead_keep");
	}
	const char *on_expire_name = PG_NARGS() > 13 ? argument::optional_string(fcinfo, 13) : nullptr;
	const OnExpire on_expire = definition::on_expire_of(on_expire_name);
	if (on_expire_name != nullptr)
		options.on_expire = &on_expire;
	const bool wakes = PG_NARGS() > 11 && !PG_ARGISNULL(11) && PG_GETARG_BOOL(11);
	alter(name, options, PG_ARGISNULL(5) ? nullptr : &archived,
		  PG_NARGS() <= 8 || PG_ARGISNULL(8) ? nullptr : &has_kinds,
		  PG_NARGS() <= 11 || PG_ARGISNULL(11) ? nullptr : &wakes,
		  PG_NARGS() > 12 ? argument::optional_string(fcinfo, 12) : nullptr);
	PG_RETURN_VOID();
}

} // namespace queue_ext::queue
