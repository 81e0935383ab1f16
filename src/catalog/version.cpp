// version.cpp - see version.hpp.

#include "../postgres.hpp"

#include "version.hpp"

#include "../compat.hpp"

namespace queue_ext::catalog {

// For check_functions_in_node(): adds which version of a user-defined function there is now.
static bool
add_version(Oid function, void *text)
{
	if (function < FirstNormalObjectId)
		return false;
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return false;
	appendStringInfo(static_cast<StringInfo>(text), "%u,%u,", function,
					 HeapTupleHeaderGetRawXmin(tuple->t_data));
	ReleaseSysCache(tuple);
	return false;
}

// Tree walker; never stops.
static bool
add_versions(Node *node, void *text)
{
	if (node == nullptr)
		return false;
	(void) check_functions_in_node(node, add_version, text);
	return compat::walk_tree(node, add_versions, text);
}

void
add_expression(StringInfo text, Node *flat)
{
	const char *tree = nodeToString(flat);
	appendStringInfo(text, "%zu,%s", strlen(tree), tree);
	(void) add_versions(flat, text);
}

Oid
file_of(Oid relation, Oid *tablespace)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	const auto form = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
	const Oid file = form->relfilenode;
	if (tablespace != nullptr)
		*tablespace = form->reltablespace;
	ReleaseSysCache(tuple);
	return file;
}

static uint64
add_tuple(uint64 version, HeapTuple tuple)
{
	version = hash_combine64(version, HeapTupleHeaderGetRawXmin(tuple->t_data));
	version = hash_combine64(version, ItemPointerGetBlockNumber(&tuple->t_self));
	return hash_combine64(version, ItemPointerGetOffsetNumber(&tuple->t_self));
}

// Adds a catalog's rows that belong to the table, in the order of the index, which begins with that column.
static uint64
add_tuples(uint64 version, Oid catalog, Oid index, AttrNumber column, Oid table)
{
	ScanKeyData key;
	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(table));
	Relation relation = table_open(catalog, AccessShareLock);
	SysScanDesc scan = systable_beginscan(relation, index, true, nullptr, 1, &key);
	for (HeapTuple tuple; HeapTupleIsValid(tuple = systable_getnext(scan));)
		version = add_tuple(version, tuple);
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	return version;
}

uint64
table_version(Oid table)
{
	uint64 version = 0;
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	if (HeapTupleIsValid(tuple)) {
		version = add_tuple(version, tuple);
		ReleaseSysCache(tuple);
	}
	version = add_tuples(version, AttributeRelationId, AttributeRelidNumIndexId,
						 Anum_pg_attribute_attrelid, table);
	return add_tuples(version, TriggerRelationId, TriggerRelidNameIndexId, Anum_pg_trigger_tgrelid,
					  table);
}

} // namespace queue_ext::catalog
