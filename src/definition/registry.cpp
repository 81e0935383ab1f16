// registry.cpp - see registry.hpp.

#include "../postgres.hpp"

#include "registry.hpp"

#include "../catalog/own_table.hpp"
#include "../catalog/owner.hpp"
#include "../compat.hpp"
#include "../error.hpp"
#include "../key/fnv.hpp"
#include "../statement/qualify.hpp"
#include "../statement/search_path.hpp"
#include "registry_row.hpp"

namespace queue_ext::definition {

using catalog::Dependent;

namespace {

// The rows with the name and the source, each if it is given.
struct Which
{
	const char *name;
	Oid source;
};

} // namespace

// The index for these rows; InvalidOid if it does not exist, as in an older version of the
// extension.
static Oid
index_for(const Which &which, Relation registry)
{
	if (which.name == nullptr && OidIsValid(which.source))
		return get_relname_relid("queue_definition_source_idx", RelationGetNamespace(registry));
	list_free(RelationGetIndexList(registry)); // sets rd_pkindex
	return registry->rd_pkindex;
}

// Calls body(row, descriptor) for each of these rows that is committed, until it returns false.
// Raises 55000 where the registry does not have the expected columns.
template <typename Body>
static void
each_row(const Which &which, Body &&body)
{
	static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Body>>);

	Relation registry = table_open(catalog::registry_oid(), AccessShareLock);
	check_columns(registry, registry_columns,
				  has_all_columns(RelationGetDescr(registry)) ? column_count : first_column_count);
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	ScanKeyData keys[2];
	int key_count = 0;
	if (which.name != nullptr)
		ScanKeyInit(&keys[key_count++], column_name, BTEqualStrategyNumber, F_TEXTEQ,
					PointerGetDatum(cstring_to_text(which.name)));
	if (OidIsValid(which.source))
		ScanKeyInit(&keys[key_count++], column_source, BTEqualStrategyNumber, F_OIDEQ,
					ObjectIdGetDatum(which.source));
	const Oid index = key_count > 0 ? index_for(which, registry) : InvalidOid;
	SysScanDesc scan =
		systable_beginscan(registry, index, OidIsValid(index), snapshot, key_count, keys);
	for (HeapTuple row; HeapTupleIsValid(row = systable_getnext(scan));) {
		CHECK_FOR_INTERRUPTS();
		if (!body(row, RelationGetDescr(registry)))
			break;
	}
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
	table_close(registry, AccessShareLock);
}

// A message about the registry is sent when a queue is added or removed.
static void
depend_on_registry(Dependent *dependent)
{
	if (dependent != nullptr)
		depend_on_relation(dependent, catalog::registry_oid());
}

// The column is not null.
static Oid
source_of(HeapTuple row, TupleDesc descriptor)
{
	bool is_null;
	return DatumGetObjectId(heap_getattr(row, column_source, descriptor, &is_null));
}

// InvalidOid if there is no such schema. Raises 42501 unless the caller has USAGE on it.
static Oid
named_schema(const char *name)
{
	const Oid schema = get_namespace_oid(name, true);
	if (OidIsValid(schema) && compat::check_schema(schema, GetUserId(), ACL_USAGE) != ACLCHECK_OK)
		error::no_right_on_schema(name, "USAGE");
	return LookupExplicitNamespace(name, true); // pg_temp, too
}

Oid
find_source(const Name &name, const char *text, Dependent *dependent)
{
	constexpr int max_path = 64;
	Oid path[max_path];
	int path_length = 1;
	if (name.is_qualified())
		path[0] = named_schema(name.schema);
	else
		path_length = Min(statement::search_path_schemas(path, max_path), max_path);
	if (dependent != nullptr && name.is_qualified())
		depend_on_object(dependent, NAMESPACEOID, path[0]);
	depend_on_registry(dependent);

	// The best is the one whose schema comes first in the path.
	Oid best = InvalidOid;
	int best_position = path_length;
	bool is_ambiguous = false;
	each_row({name.name, InvalidOid}, [&](HeapTuple row, TupleDesc descriptor) {
		const Oid source = source_of(row, descriptor);
		// The table may move to a schema that comes earlier in the path.
		if (dependent != nullptr)
			depend_on_relation(dependent, source);
		const Oid schema = get_rel_namespace(source);
		for (int position = 0; OidIsValid(schema) && position < path_length; position++) {
			if (path[position] != schema || position > best_position)
				continue;
			is_ambiguous = position == best_position;
			best = source;
			best_position = position;
			break;
		}
		return true;
	});
	if (is_ambiguous)
		error::ambiguous_queue(text);
	return best;
}

// Depends on the registry alone: a queue keeps its name when the table is renamed.
char *
find_only_name(Oid source, Dependent *dependent)
{
	char *name = nullptr;
	bool is_ambiguous = false;
	depend_on_registry(dependent);
	each_row({nullptr, source}, [&](HeapTuple row, TupleDesc descriptor) {
		bool is_null;
		is_ambiguous = name != nullptr;
		name = TextDatumGetCString(heap_getattr(row, column_name, descriptor, &is_null));
		return !is_ambiguous;
	});
	if (is_ambiguous)
		error::many_queues_on_table(source);
	return name;
}

// There is at most one: queue_adopt refuses a table that belongs to a managed queue.
char *
find_managed_name(Oid source)
{
	char *name = nullptr;
	each_row({nullptr, source}, [&](HeapTuple row, TupleDesc descriptor) {
		const RowReader reader{row, descriptor};
		if (reader.boolean(column_managed))
			name = TextDatumGetCString(reader.get(column_name));
		return name == nullptr;
	});
	return name;
}

bool
has_other_queue(Oid source, const char *name)
{
	bool is_found = false;
	each_row({nullptr, source}, [&](HeapTuple row, TupleDesc descriptor) {
		bool is_null;
		is_found = strcmp(TextDatumGetCString(heap_getattr(row, column_name, descriptor, &is_null)),
						  name) != 0;
		return !is_found;
	});
	return is_found;
}

// Whether a queue of another table has this archive.
static bool
is_archive_of_other(Oid archive, Oid source)
{
	bool is_found = false;
	each_row({nullptr, InvalidOid}, [&](HeapTuple row, TupleDesc descriptor) {
		const RowReader reader{row, descriptor};
		is_found = reader.oid(column_archive) == archive && source_of(row, descriptor) != source;
		return !is_found;
	});
	return is_found;
}

bool
has_own_archive(const Definition *definition)
{
	return definition->archive_name != nullptr &&
		   catalog::find_owner(definition->archive) == catalog::owner_of(definition->source) &&
		   !is_archive_of_other(definition->archive, definition->source);
}

List *
find_names(Oid source)
{
	List *names = NIL;
	each_row({nullptr, source}, [&](HeapTuple row, TupleDesc descriptor) {
		bool is_null;
		names = lappend(names,
						TextDatumGetCString(heap_getattr(row, column_name, descriptor, &is_null)));
		return true;
	});
	return names;
}

List *
find_all()
{
	List *all = NIL;
	each_row({nullptr, InvalidOid}, [&](HeapTuple row, TupleDesc descriptor) {
		const RowReader reader{row, descriptor};
		auto *registered = static_cast<Registered *>(palloc(sizeof(Registered)));
		*registered = {TextDatumGetCString(reader.get(column_name)), source_of(row, descriptor),
					   reader.boolean(column_managed)};
		all = lappend(all, registered);
		return true;
	});
	return all;
}

// No queue has an empty name.
bool
has_queue(Oid source)
{
	return has_other_queue(source, "");
}

ClaimMode
claim_mode_of(const char *name)
{
	if (strcmp(name, "update") == 0)
		return ClaimMode::update;
	if (strcmp(name, "transaction") == 0)
		return ClaimMode::transaction;
	if (strcmp(name, "session") == 0)
		return ClaimMode::session;
	error::unknown_claim_mode(name);
}

// The strings are in the context, so it is made the current one while they are read.
bool
read_definition(Oid source, const char *name, MemoryContext context, Definition *definition)
{
	bool is_found = false;
	each_row({name, source}, [&](HeapTuple row, TupleDesc descriptor) {
		const RowReader reader{row, descriptor};
		MemoryContext old = MemoryContextSwitchTo(context);
		definition->name = reader.string(column_name);
		definition->source = source;
		definition->is_archived = reader.boolean(column_archived);
		definition->archive = reader.oid(column_archive);
		definition->claim_mode = claim_mode_of(reader.string(column_claim_mode));
		definition->search_path = reader.string(column_search_path);
		definition->is_managed = reader.boolean(column_managed);
		definition->is_paused = reader.boolean(column_paused);
		definition->lease = reader.interval(column_lease);
		definition->backoff_base = reader.interval(column_backoff_base);
		definition->backoff_cap = reader.interval(column_backoff_cap);
		definition->max_attempts = reader.integer(column_max_attempts);
		definition->archive_keep = reader.interval(column_archive_keep);
		definition->dead_keep = reader.interval(column_dead_keep);
		definition->ages = {reader.string(column_ready_at), reader.string(column_claimed_at)};
		definition->fragments = {
			reader.string(column_pending),    reader.string(column_order_by),
			reader.string(column_on_claim),   reader.string(column_on_complete),
			reader.string(column_on_release), reader.string(column_on_fail),
			reader.string(column_on_extend),
		};
		MemoryContextSwitchTo(old);
		is_found = true;
		return false;
	});
	return is_found;
}

namespace {

// The objsubid of the locks of class queue_definition.
enum LockKind : uint16 { lock_of_source, lock_of_name };

} // namespace

// LockDatabaseObject() accepts invalidation messages once it has the lock, as LockRelationOid()
// does.
void
lock_queues_of(Oid source)
{
	LockDatabaseObject(catalog::registry_oid(), source, lock_of_source, ExclusiveLock);
}

void
lock_name_in(Oid schema, const char *name)
{
	// Names with the same hash in a schema share a lock. Those of other schemas do not: otherwise a
	// role could block names in schemas that it has no privileges on.
	const uint32 hash = key::fnv1a_32(reinterpret_cast<const unsigned char *>(name), strlen(name));
	const auto of_name = static_cast<uint16>(lock_of_name + hash % (PG_UINT16_MAX - lock_of_name));
	LockDatabaseObject(catalog::registry_oid(), schema, of_name, ExclusiveLock);
}

// Sends a relcache message about the table at commit, unless the table has been dropped.
static void
tell_of_change(Oid source)
{
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source)))
		CacheInvalidateRelcacheByRelid(source);
}

// Runs a write as the registry's owner, as callers have no rights on it. "$n" in the text is the
// value of the n-th column.
static void
write(const char *text, RowWriter *row)
{
	Assert(statement::is_qualified(text));
	const Oid registry = catalog::registry_oid();
	catalog::as_owner_of(registry, [&] {
		statement::with_spi([&] {
			statement::without_text(text, {"registry of queues", nullptr}, [&] {
				const int result = SPI_execute_with_args(text, column_count, row->types,
														 row->values, row->nulls, false, 0);
				if (result < 0)
					elog(ERROR, "could not write the registry: %s", SPI_result_code_string(result));
			});
		});
	});
	tell_of_change(DatumGetObjectId(row->values[column_source - 1]));
	CommandCounterIncrement(); // processes the messages in this backend, too
}

// Likewise, for a write that adds or removes a queue: any name may mean another queue afterwards.
static void
write_name(const char *text, RowWriter *row)
{
	CacheInvalidateRelcacheByRelid(catalog::registry_oid());
	write(text, row);
}

// Qualified and quoted, for statements.
static const char *
registry_name()
{
	return quote_qualified_identifier(catalog::own_schema(), "queue_definition");
}

// A scan with a registered snapshot of its own: the syscache may lag behind.
bool
is_dropped(Oid relation)
{
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)))
		return false;
	ScanKeyData key;
	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relation));
	Relation relations = table_open(RelationRelationId, AccessShareLock);
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	SysScanDesc scan = systable_beginscan(relations, ClassOidIndexId, true, snapshot, 1, &key);
	const bool is_there = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
	table_close(relations, AccessShareLock);
	return !is_there;
}

// Removes the rows of dropped tables. Does not wait for a transaction that is removing one: that
// row is left to it.
static void
remove_dropped()
{
	Relation registry = table_open(catalog::registry_oid(), RowExclusiveLock);
	each_row({}, [&](HeapTuple row, TupleDesc descriptor) {
		TM_FailureData failure;
		if (is_dropped(source_of(row, descriptor)))
			(void) compat::delete_tuple(registry, &row->t_self, GetCurrentCommandId(true),
										InvalidSnapshot, false, &failure);
		return true;
	});
	table_close(registry, NoLock);
}

// A column that does not change has a null value, but needs a type.
static void
set_options(RowWriter *row, const Options &options)
{
	row->set(column_lease, options.lease);
	row->set(column_backoff_base, options.backoff_base);
	row->set(column_backoff_cap, options.backoff_cap);
	row->types[column_max_attempts - 1] = INT4OID;
	if (options.max_attempts != nullptr)
		row->set(column_max_attempts, INT4OID, Int32GetDatum(*options.max_attempts));
	row->types[column_paused - 1] = BOOLOID;
	if (options.is_paused != nullptr)
		row->set(column_paused, BOOLOID, BoolGetDatum(*options.is_paused));
	row->types[column_archived - 1] = BOOLOID;
	if (options.is_archived != nullptr)
		row->set(column_archived, BOOLOID, BoolGetDatum(*options.is_archived));
	row->types[column_archive - 1] = OIDOID;
	if (options.archive != nullptr)
		row->set(column_archive, OIDOID, ObjectIdGetDatum(*options.archive));
}

// Only SQL objects of this version have arguments for them.
static bool
names_columns(const Options &options)
{
	return options.ages.ready_at != nullptr || options.ages.claimed_at != nullptr;
}

// Likewise.
static bool
is_kept(const Options &options)
{
	return options.archive_keep != nullptr || options.dead_keep != nullptr;
}

static void
set_keeps(RowWriter *row, const Options &options)
{
	row->set(column_archive_keep, options.archive_keep);
	row->set(column_dead_keep, options.dead_keep);
}

// Zero is stored as null.
static const char *
stored_keep(int parameter)
{
	return psprintf("case when $%d operator(pg_catalog.>) '0'::pg_catalog.interval then $%d end",
					parameter, parameter);
}

// The assignment of an interval.
static const char *
new_keep(const char *column, int parameter)
{
	return psprintf("%s = case when $%d is null then %s else %s end", column, parameter, column,
					stored_keep(parameter));
}

// The row's created_at and paused have their defaults.
void
insert_definition(const NewQueue &queue, const Options &options)
{
	RowWriter row;
	row.set_key(queue.name, queue.source);
	row.set(column_managed, BOOLOID, BoolGetDatum(queue.is_managed));
	row.set(column_claim_mode, queue.claim_mode);
	set_options(&row, options);
	row.set(column_ready_at, options.ages.ready_at);
	row.set(column_claimed_at, options.ages.claimed_at);
	set_keeps(&row, options);
	row.set(column_pending, queue.fragments.pending);
	row.set(column_order_by, queue.fragments.order_by);
	row.set(column_on_claim, queue.fragments.on_claim);
	row.set(column_on_complete, queue.fragments.on_complete);
	row.set(column_on_release, queue.fragments.on_release);
	row.set(column_on_fail, queue.fragments.on_fail);
	row.set(column_on_extend, queue.fragments.on_extend);
	row.set(column_search_path, queue.search_path);

	remove_dropped();
	write_name(
		psprintf(
			"insert into %s (name, source, managed, claim_mode, lease, max_attempts,"
			" backoff_base, backoff_cap, archived, archive, pending, order_by, on_claim,"
			" on_complete, on_release, on_fail, on_extend, search_path%s%s) values ($1, $2, $3,"
			" $4, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19%s%s)",
			registry_name(), names_columns(options) ? ", ready_at, claimed_at" : "",
			is_kept(options) ? ", archive_keep, dead_keep" : "",
			names_columns(options) ? ", $21, $22" : "",
			is_kept(options) ? psprintf(", %s, %s", stored_keep(23), stored_keep(24)) : ""),
		&row);
}

// The assignment of a name that may be empty.
static const char *
new_name(const char *column, int parameter)
{
	return psprintf("%s = case when $%d is null then %s"
					" when pg_catalog.octet_length($%d) operator(pg_catalog.>) 0 then $%d end",
					column, parameter, column, parameter, parameter);
}

// coalesce() keeps the columns without a value.
void
update_definition(const char *name, Oid source, const Options &options)
{
	RowWriter row;
	row.set_key(name, source);
	set_options(&row, options);
	row.set(column_on_claim, options.on_claim);
	row.set(column_on_release, options.on_release);
	row.set(column_ready_at, options.ages.ready_at);
	row.set(column_claimed_at, options.ages.claimed_at);
	set_keeps(&row, options);
	write(psprintf("update %s set paused = coalesce($5, paused), lease = coalesce($6, lease),"
				   " max_attempts = coalesce($7, max_attempts),"
				   " backoff_base = coalesce($8, backoff_base),"
				   " backoff_cap = coalesce($9, backoff_cap),"
				   " archived = coalesce($10, archived), archive = coalesce($11, archive),"
				   " on_claim = coalesce($14, on_claim),"
				   " on_release = coalesce($16, on_release)%s%s"
				   " where name operator(pg_catalog.=) $1 and source operator(pg_catalog.=) $2",
				   registry_name(),
				   names_columns(options)
					   ? psprintf(", %s, %s", new_name("ready_at", 21), new_name("claimed_at", 22))
					   : "",
				   is_kept(options) ? psprintf(", %s, %s", new_keep("archive_keep", 23),
											   new_keep("dead_keep", 24))
									: ""),
		  &row);
}

void
delete_definition(const char *name, Oid source)
{
	RowWriter row;
	row.set_key(name, source);
	write_name(psprintf("delete from %s where name operator(pg_catalog.=) $1"
						" and source operator(pg_catalog.=) $2",
						registry_name()),
			   &row);
}

} // namespace queue_ext::definition
