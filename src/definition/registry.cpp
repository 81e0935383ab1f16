// registry.cpp - see registry.hpp.

#include "../postgres.hpp"

#include "registry.hpp"

#include "../catalog/own_table.hpp"
#include "../catalog/owner.hpp"
#include "../compat.hpp"
#include "../error.hpp"
#include "../key/fnv.hpp"
#include "../row/own_row.hpp"
#include "../statement/search_path.hpp"
#include "keep.hpp"
#include "managed.hpp"
#include "registry_row.hpp"
#include "shape.hpp"

namespace queue_ext::definition {

using catalog::Dependent;
using row::RowValues;

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
					   reader.boolean(column_managed), reader.oid(column_dead_queue)};
		all = lappend(all, registered);
		return true;
	});
	return all;
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

OnExpire
on_expire_of(const char *name)
{
	if (name == nullptr || *name == '\0')
		return OnExpire::none;
	constexpr OnExpire all[] = {OnExpire::dead, OnExpire::archive, OnExpire::remove};
	for (const OnExpire on_expire : all)
		if (strcmp(name, name_of(on_expire)) == 0)
			return on_expire;
	error::unknown_on_expire(name);
}

const char *
name_of(OnExpire on_expire)
{
	switch (on_expire) {
		case OnExpire::none:
			return nullptr;
		case OnExpire::dead:
			return "dead";
		case OnExpire::archive:
			return "archive";
		case OnExpire::remove:
			return "delete";
	}
	pg_unreachable();
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
		definition->dead_queue = reader.oid(column_dead_queue);
		definition->on_expire = on_expire_of(reader.string(column_on_expire));
		definition->ages = {reader.string(column_ready_at), reader.string(column_claimed_at)};
		definition->fragments = {
			reader.string(column_pending),    reader.string(column_order_by),
			reader.string(column_on_claim),   reader.string(column_on_complete),
			reader.string(column_on_release), reader.string(column_on_fail),
			reader.string(column_on_extend),
		};
		// Those of its table as it is, whichever version has made it, and not those that a library of then can read.
		if (definition->is_managed)
			definition->fragments = managed_fragments(layout_of(source));
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

// The registry, to be written. It is not found by its name, and no statement writes it: the owner of the schema may
// put another table there (row/own_row.hpp). Raises 55000 where it does not have the columns that are to be written.
static Relation
open_to_write(const Options &options)
{
	const bool has_new_ones = options.ages.ready_at != nullptr ||
							  options.ages.claimed_at != nullptr ||
							  options.archive_keep != nullptr || options.dead_keep != nullptr ||
							  options.dead_queue != nullptr || options.on_expire != nullptr;
	Relation registry = table_open(catalog::registry_oid(), RowExclusiveLock);
	check_columns(registry, registry_columns, has_new_ones ? column_count : first_column_count);
	return registry;
}

// Any name may mean another queue after a queue was added or removed.
static void
close_written(Relation registry, Oid source, bool is_of_names)
{
	table_close(registry, NoLock);
	if (is_of_names)
		CacheInvalidateRelcacheByRelid(catalog::registry_oid());
	tell_of_change(source);
	CommandCounterIncrement(); // processes the messages in this backend, too
}

// The row of (source, name), locked; or null.
static HeapTuple
lock_definition(Relation registry, const char *name, Oid source)
{
	ItemPointerData found;
	ItemPointerSetInvalid(&found);
	each_row({name, source}, [&](HeapTuple row, TupleDesc) {
		found = row->t_self;
		return false;
	});
	return ItemPointerIsValid(&found) ? row::lock_own_row(registry, found) : nullptr;
}

template <typename Value>
static void
set_if(const RowValues &row, Column column, const Value *value)
{
	if (value != nullptr)
		row.set(column, value);
}

// An empty name is stored as null.
static void
set_name_if(const RowValues &row, Column column, const char *name)
{
	if (name != nullptr)
		row.set(column, *name == '\0' ? nullptr : name);
}

// So is zero.
static void
set_keep_if(const RowValues &row, Column column, const Interval *keep)
{
	if (keep != nullptr)
		row.set(column, is_for_ever(*keep) ? nullptr : keep);
}

static void
set_options(const RowValues &row, const Options &options)
{
	set_if(row, column_lease, options.lease);
	set_if(row, column_backoff_base, options.backoff_base);
	set_if(row, column_backoff_cap, options.backoff_cap);
	if (options.max_attempts != nullptr)
		row.set(column_max_attempts, Int32GetDatum(*options.max_attempts));
	if (options.is_paused != nullptr)
		row.set(column_paused, BoolGetDatum(*options.is_paused));
	if (options.is_archived != nullptr)
		row.set(column_archived, BoolGetDatum(*options.is_archived));
	if (options.archive != nullptr)
		row.set(column_archive, ObjectIdGetDatum(*options.archive));
	set_if(row, column_on_claim, options.on_claim);
	set_if(row, column_on_release, options.on_release);
	set_name_if(row, column_ready_at, options.ages.ready_at);
	set_name_if(row, column_claimed_at, options.ages.claimed_at);
	set_keep_if(row, column_archive_keep, options.archive_keep);
	set_keep_if(row, column_dead_keep, options.dead_keep);
	if (options.dead_queue != nullptr)
		row.set(column_dead_queue, ObjectIdGetDatum(*options.dead_queue),
				!OidIsValid(*options.dead_queue));
	if (options.on_expire != nullptr)
		row.set(column_on_expire, name_of(*options.on_expire));
}

// The row's created_at and paused have their defaults.
void
insert_definition(const NewQueue &queue, const Options &options)
{
	remove_dropped();
	Relation registry = open_to_write(options);
	const RowValues row(registry);
	row.set(column_name, queue.name);
	row.set(column_source, ObjectIdGetDatum(queue.source));
	row.set(column_managed, BoolGetDatum(queue.is_managed));
	row.set(column_claim_mode, queue.claim_mode);
	row.set(column_pending, queue.fragments.pending);
	row.set(column_order_by, queue.fragments.order_by);
	row.set(column_on_claim, queue.fragments.on_claim);
	row.set(column_on_complete, queue.fragments.on_complete);
	row.set(column_on_release, queue.fragments.on_release);
	row.set(column_on_fail, queue.fragments.on_fail);
	row.set(column_on_extend, queue.fragments.on_extend);
	row.set(column_search_path, queue.search_path);
	set_options(row, options);
	insert_own_row(registry, row);
	close_written(registry, queue.source, true);
}

void
update_definition(const char *name, Oid source, const Options &options)
{
	Relation registry = open_to_write(options);
	const RowValues row(registry);
	set_options(row, options);
	HeapTuple old = lock_definition(registry, name, source);
	if (old != nullptr)
		update_own_row(registry, old, row);
	close_written(registry, source, false);
}

void
delete_definition(const char *name, Oid source)
{
	Relation registry = open_to_write({});
	HeapTuple old = lock_definition(registry, name, source);
	if (old != nullptr)
		CatalogTupleDelete(registry, &old->t_self);
	close_written(registry, source, true);
}

} // namespace queue_ext::definition
