// citus.cpp - see citus.hpp.

#include "../postgres.hpp"

#include "citus.hpp"

#include "../error.hpp"
#include "indexes.hpp"

namespace queue_ext::catalog {

// The column of the table, which all versions of Citus have first.
constexpr AttrNumber logical_relation = 1;

// The index by the table; InvalidOid if there is none.
static Oid
find_index(Relation partitions)
{
	Oid found = InvalidOid;
	each_index(partitions, [&](Relation index) {
		if (index->rd_index->indisvalid && index->rd_index->indisunique &&
			index->rd_index->indkey.values[0] == logical_relation &&
			index->rd_rel->relam == BTREE_AM_OID && RelationGetIndexPredicate(index) == NIL)
			found = RelationGetRelid(index);
	});
	return found;
}

static bool
has_row_of(Relation partitions, Oid table)
{
	const TupleDesc columns = RelationGetDescr(partitions);
	if (partitions->rd_rel->relkind != RELKIND_RELATION || columns->natts < logical_relation ||
		TupleDescAttr(columns, logical_relation - 1)->atttypid != REGCLASSOID)
		return false;
	ScanKeyData key;
	ScanKeyInit(&key, logical_relation, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(table));
	const Oid index = find_index(partitions);
	SysScanDesc scan = systable_beginscan(partitions, index, OidIsValid(index), nullptr, 1, &key);
	const bool is_there = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	return is_there;
}

void
check_not_distributed(Oid table)
{
	const Oid catalog = get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE);
	Relation partitions =
		OidIsValid(catalog) ? try_relation_open(catalog, AccessShareLock) : nullptr;
	if (partitions == nullptr)
		return;
	const bool is_distributed = has_row_of(partitions, table);
	relation_close(partitions, AccessShareLock);
	if (is_distributed)
		error::distributed(get_rel_name(table));
}

} // namespace queue_ext::catalog
