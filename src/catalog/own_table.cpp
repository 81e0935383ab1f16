// own_table.cpp - see own_table.hpp.

#include "../postgres.hpp"

#include "own_table.hpp"

#include "../error.hpp"
#include "relation_change.hpp"

namespace queue_ext::catalog {

// Saves the scan of pg_extension; reset by on_relation_change().
static Oid known_registry_oid = InvalidOid;

// Runs body with the extension's row of pg_extension, if it exists. A scan, since older versions
// have no syscache for that catalog.
template <typename Body>
static void
with_extension(Body &&body)
{
	ScanKeyData key;
	Relation extensions = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum("queue_ext"));
	SysScanDesc scan = systable_beginscan(extensions, ExtensionNameIndexId, true, nullptr, 1, &key);
	HeapTuple tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		body(tuple, RelationGetDescr(extensions));
	systable_endscan(scan);
	table_close(extensions, AccessShareLock);
}

// The schema of the extension, or InvalidOid.
static Oid
extension_schema()
{
	Oid schema = InvalidOid;
	with_extension([&](HeapTuple tuple, TupleDesc) {
		schema = reinterpret_cast<Form_pg_extension>(GETSTRUCT(tuple))->extnamespace;
	});
	return schema;
}

Oid
registry_oid()
{
	if (!OidIsValid(known_registry_oid)) {
		const Oid schema = extension_schema();
		const Oid relation =
			OidIsValid(schema) ? get_relname_relid("queue_definition", schema) : InvalidOid;
		if (!OidIsValid(relation))
			error::not_created();
		known_registry_oid = relation;
	}
	return known_registry_oid;
}

const char *
own_schema()
{
	const char *schema = get_namespace_name(get_rel_namespace(registry_oid()));
	if (schema == nullptr) // dropped a moment ago
		error::not_created();
	return schema;
}

// The registry may have been dropped, and created again with another OID.
static void
on_relation_change(Oid relation)
{
	if (!OidIsValid(relation) || relation == known_registry_oid)
		known_registry_oid = InvalidOid;
}

void
register_own_tables()
{
	listen_to_relations(on_relation_change);
}

const char *
installed_version()
{
	const char *version = nullptr;
	with_extension([&](HeapTuple tuple, TupleDesc descriptor) {
		bool is_null;
		version = TextDatumGetCString(
			heap_getattr(tuple, Anum_pg_extension_extversion, descriptor, &is_null));
	});
	return version;
}

// Raises 55000. The extension may have been dropped since its OID was read.
[[noreturn]] static void
raise_mismatch(const char *relation)
{
	const char *installed = installed_version();
	if (installed == nullptr)
		error::not_created();
	error::version_mismatch(relation, installed, QUEUE_EXT_VERSION);
}

// Compares names, too: a newer version may have replaced a column by one of the same type.
void
check_columns(Relation table, const OwnColumn *columns, int count)
{
	const TupleDesc descriptor = RelationGetDescr(table);
	bool is_like = descriptor->natts >= count;
	for (int i = 0; i < count && is_like; i++) {
		const Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
		is_like = !attribute->attisdropped && attribute->atttypid == columns[i].type &&
				  strcmp(NameStr(attribute->attname), columns[i].name) == 0 &&
				  (attribute->attnotnull || !columns[i].is_required);
	}
	if (!is_like)
		raise_mismatch(RelationGetRelationName(table));
}

Oid
own_relation(const char *name)
{
	const Oid relation = get_relname_relid(name, get_rel_namespace(registry_oid()));
	if (!OidIsValid(relation))
		raise_mismatch(name);
	return relation;
}

} // namespace queue_ext::catalog
