// attach.cpp - queue_attach: attaches an existing table as a queue.
//
// Checks and locks come in the order that create.cpp describes.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../catalog/key_advice.hpp"
#include "../catalog/owner.hpp"
#include "../catalog/row_key.hpp"
#include "../claim/choice.hpp"
#include "../claim/given_back.hpp"
#include "../claim/served.hpp"
#include "../compat.hpp"
#include "../definition/compiled.hpp"
#include "../definition/fragment.hpp"
#include "../definition/name.hpp"
#include "../definition/open.hpp"
#include "../definition/registry.hpp"
#include "../definition/settings.hpp"
#include "../definition/shape.hpp"
#include "../definition/time_zone.hpp"
#include "../error.hpp"
#include "../statement/search_path.hpp"
#include "../stats/transaction_counters.hpp"
#include "../wake/trigger.hpp"

namespace queue_ext::queue {

using definition::AgeColumns;
using definition::ClaimMode;
using definition::Definition;
using definition::Name;
using definition::NewQueue;

QUEUE_EXT_FUNCTION(queue_ext_queue_attach);

// Raises 22023 if on_claim does not go with the claim mode, 55000 for mode session on a table
// without a key, 0A000 for a lock mode on a key whose text depends on settings.
static void
check_mode(const NewQueue &queue, Relation table)
{
	const ClaimMode mode = definition::claim_mode_of(queue.claim_mode);
	if (mode == ClaimMode::update && queue.fragments.on_claim == nullptr)
		error::on_claim_missing();
	if (mode != ClaimMode::update && queue.fragments.on_claim != nullptr)
		error::on_claim_unused(queue.claim_mode);
	if (mode == ClaimMode::update)
		return;
	const catalog::RowKey row_key = catalog::find_row_key(table);
	if (mode == ClaimMode::session && !row_key.has_key()) {
		const catalog::KeyAdvice advice = catalog::advise_key(table);
		error::no_key(RelationGetRelationName(table), advice.command, advice.obstacle);
	}
	if (OidIsValid(type_without_text(row_key)))
		error::key_without_text(RelationGetRelationName(table), type_without_text(row_key));
}

// Raises 42703 or 42804 unless each is null or names a column of the table with times.
static void
check_ages(const AgeColumns &ages, Relation table)
{
	definition::check_age_column(ages.ready_at, "ready_at", table);
	definition::check_age_column(ages.claimed_at, "claimed_at", table);
}

// Returns the queue's name in its table's schema. Raises 22023 if the caller named another schema,
// 42602 or 42622 for a malformed name.
static Name
name_in_schema(const char *written, Oid schema)
{
	Name name = definition::parse_name(written);
	const char *schema_name = get_namespace_name(schema);
	if (name.is_qualified() && LookupExplicitNamespace(name.schema, true) != schema)
		error::not_in_schema(definition::to_text(name),
							 quote_qualified_identifier(schema_name, name.name));
	strlcpy(name.schema, schema_name, NAMEDATALEN);
	return name;
}

// Returns the columns of the index to propose: the order; where no index can have that, the key, so
// that a claim at least finds the pending rows by the index; or else the first column.
static const char *
index_columns(const NewQueue &queue, Relation table)
{
	if (queue.fragments.order_by != nullptr) {
		const definition::Fragment order{queue.fragments.order_by, definition::FragmentKind::order,
										 "order_by", queue.name, false};
		const char *columns = compile(order, table, queue.search_path).bare_text;
		if (columns != nullptr)
			return columns;
	}
	const catalog::RowKey row_key = catalog::find_row_key(table);
	StringInfoData columns;
	initStringInfo(&columns);
	for (int i = 0; i < row_key.length; i++)
		appendStringInfo(&columns, "%s%s", i == 0 ? "" : ", ", row_key.columns[i].name);
	for (int i = 0; i < RelationGetNumberOfAttributes(table) && columns.len == 0; i++) {
		const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(table), i);
		if (!attribute->attisdropped)
			appendStringInfoString(&columns, quote_identifier(NameStr(attribute->attname)));
	}
	return columns.data;
}

static definition::CompiledFragment
compile_pending(const NewQueue &queue, Relation table)
{
	return definition::compile({queue.fragments.pending, definition::FragmentKind::condition,
								"pending", queue.name, false},
							   table, queue.search_path);
}

// Returns the part of "pending" that an index predicate can hold, as a WHERE clause.
static const char *
index_predicate(const NewQueue &queue, Relation table)
{
	const definition::CompiledFragment pending = compile_pending(queue, table);
	StringInfoData predicate;
	initStringInfo(&predicate);
	ListCell *cell;
	foreach (cell, pending.conjuncts) {
		auto *conjunct = static_cast<Node *>(lfirst(cell));
		if (definition::can_be_predicate(conjunct))
			appendStringInfo(&predicate, "%s%s", predicate.len > 0 ? " AND " : " WHERE ",
							 definition::write_out_bare(conjunct, RelationGetRelid(table)));
	}
	return predicate.data;
}

// Returns the command for the index to propose. Inheritance children get one command each, since no
// index spans them.
static const char *
index_command(const Definition *definition, const NewQueue &queue, Relation table)
{
	const char *rest =
		psprintf("(%s)%s", index_columns(queue, table), index_predicate(queue, table));
	if (table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		return psprintf("CREATE INDEX ON %s %s", definition->source_name, rest);
	StringInfoData command;
	initStringInfo(&command);
	ListCell *cell;
	foreach (cell, find_all_inheritors(queue.source, NoLock, nullptr))
		appendStringInfo(&command, "%sCREATE INDEX ON %s %s", command.len > 0 ? "; " : "",
						 definition::qualified_name(lfirst_oid(cell)), rest);
	return command.data;
}

// Plans the first claim to find out; warns (01000) if its plan reads in order from no index that
// restricts, or from one that leads to many rows that are not pending.
static void
warn_unless_served(Definition *definition, const NewQueue &queue, Relation table)
{
	bool is_served = false;
	Oid excessive = InvalidOid;
	statement::with_spi([&] {
		is_served = claim::has_serving_index(definition);
		if (is_served)
			excessive = claim::find_excessive_index(definition);
	});
	if (!is_served)
		error::warn_no_index(definition->name, index_command(definition, queue, table));
	else if (OidIsValid(excessive))
		error::warn_index_excess(get_rel_name(excessive), definition->name, claim::most_excess,
								 index_command(definition, queue, table));
}

// Warns (01000) where sessions with different time zones would find different rows pending.
static void
warn_of_zone(const NewQueue &queue, Relation table)
{
	const char *use = definition::find_zone_use(compile_pending(queue, table).expression, table);
	if (use != nullptr)
		error::warn_session_zone(queue.name, use);
}

// Tells which path the table allows to its claims, where that is not the direct one.
static void
tell_path(Definition *definition)
{
	const claim::CompiledClaim *claim = claim::compiled_claim_of(definition);
	if (claim->path != claim::Path::direct)
		error::notice_path(definition->name, claim::name_of(claim->path), claim->obstacle.reason,
						   claim->obstacle.hint);
}

// Raises 42P01 if there is no such table, 42501 if the caller does not own it or has no CREATE
// privilege on its schema, where the queue's name will be taken.
static void
check_source(Oid source)
{
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source)))
		error::no_such_table(source);
	catalog::check_owner(source);
	const Oid schema = get_rel_namespace(source);
	if (compat::check_schema(schema, GetUserId(), ACL_CREATE) != ACLCHECK_OK)
		error::no_right_on_schema(get_namespace_name(schema), "CREATE");
}

// Enters the queue into the registry before it compiles the fragments: they are compiled as every
// later backend will compile them, and an error takes the entry back.
static void
attach(const char *written, NewQueue queue, const Interval *lease, bool wakes,
	   const AgeColumns &ages)
{
	check_source(queue.source);
	definition::lock_queues_of(queue.source);
	Relation table = try_relation_open(queue.source, AccessShareLock);
	check_source(queue.source); // again: waiting for the locks may have let in a change
	definition::check_can_carry(table);
	check_mode(queue, table);
	check_ages(ages, table);
	const Name name = name_in_schema(written, RelationGetNamespace(table));
	definition::lock_name_in(RelationGetNamespace(table), name.name);
	if (OidIsValid(definition::find_source(name, written, nullptr)))
		error::queue_exists(definition::to_text(name));

	queue.name = name.name;
	definition::Options options{};
	options.is_archived = &definition::default_settings.is_archived;
	options.lease = lease;
	options.ages = ages;
	options.backoff_base = &definition::default_settings.backoff_base;
	options.backoff_cap = &definition::default_settings.backoff_cap;
	insert_definition(queue, options);
	(void) claim::note_neighbour(queue.source, name.name);

	const char *qualified = quote_qualified_identifier(name.schema, name.name);
	Definition *definition = open_queue(cstring_to_text(qualified), definition::Use::own);
	definition::compiled_of(definition);
	warn_unless_served(definition, queue, table);
	warn_of_zone(queue, table);
	relation_close(table, NoLock);
	tell_path(definition);
	if (wakes)
		wake::create_wake_trigger(queue.source, false);
	stats::note_begin(queue.source, name.name, false, false);
}

// An empty name names none, as for queue_alter.
static const char *
optional_column(FunctionCallInfo fcinfo, int n)
{
	const char *name = argument::optional_string(fcinfo, n);
	return name == nullptr || name[0] == '\0' ? nullptr : name;
}

Datum
queue_ext_queue_attach(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_attach()");
	const char *written = text_to_cstring(argument::required_text(fcinfo, 0, "queue"));
	argument::check_not_null(fcinfo, 1, "source");
	NewQueue queue{};
	queue.source = PG_GETARG_OID(1);
	queue.fragments.pending = text_to_cstring(argument::required_text(fcinfo, 2, "pending"));
	queue.fragments.order_by = argument::optional_string(fcinfo, 3);
	queue.fragments.on_claim = argument::optional_string(fcinfo, 4);
	queue.fragments.on_complete = argument::optional_string(fcinfo, 5);
	queue.fragments.on_release = argument::optional_string(fcinfo, 6);
	queue.fragments.on_fail = argument::optional_string(fcinfo, 7);
	queue.claim_mode = text_to_cstring(argument::required_text(fcinfo, 8, "claim_mode"));
	queue.fragments.on_extend = argument::optional_string(fcinfo, 9);
	queue.search_path = statement::current_search_path();
	argument::check_not_null(fcinfo, 11, "wake");
	// SQL objects of 0.1 have no arguments for the ages.
	AgeColumns ages{};
	if (PG_NARGS() > 12)
		ages = {optional_column(fcinfo, 12), optional_column(fcinfo, 13)};
	attach(written, queue, argument::required_duration(fcinfo, 10, "lease"), PG_GETARG_BOOL(11),
		   ages);
	PG_RETURN_VOID();
}

} // namespace queue_ext::queue
