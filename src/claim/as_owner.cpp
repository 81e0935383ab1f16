// as_owner.cpp - see as_owner.hpp.

#include "../postgres.hpp"

#include "as_owner.hpp"

#include "../catalog/indexes.hpp"
#include "../catalog/users_code.hpp"
#include "../compat.hpp"
#include "../error.hpp"
#include "../missing_rights.hpp"
#include "../wake/trigger.hpp"

namespace queue_ext::claim {

static bool
has_users_code_in(const char *tree)
{
	return tree != nullptr && catalog::has_users_code(static_cast<Node *>(stringToNode(tree)));
}

// Disabled triggers count, too, as they may be enabled in a session that replicates. So do those of foreign keys, which
// may write other tables.
static bool
has_triggers(Relation table, int events)
{
	const TriggerDesc *triggers = CopyTriggerDesc(table->trigdesc);
	for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++)
		if ((triggers->triggers[i].tgtype & events) != 0 &&
			!wake::is_wake_function(triggers->triggers[i].tgfoid))
			return true;
	return false;
}

// Defaults, those of a domain included, and checks.
static bool
has_code_in_columns(Relation table)
{
	TupleDesc columns = RelationGetDescr(table);
	for (int i = 0; i < columns->natts; i++) {
		const Form_pg_attribute column = TupleDescAttr(columns, i);
		if (!column->attisdropped && !catalog::is_plain_type(column->atttypid))
			return true;
	}
	const TupleConstr *constraints = columns->constr;
	if (constraints == nullptr)
		return false;
	if (compat::has_generated(constraints))
		return true;
	for (int i = 0; i < constraints->num_defval; i++)
		if (has_users_code_in(constraints->defval[i].adbin))
			return true;
	for (int i = 0; i < constraints->num_check; i++)
		if (has_users_code_in(constraints->check[i].ccbin))
			return true;
	return false;
}

static bool
has_code_in_indexes(Relation table)
{
	bool has_code = false;
	catalog::each_index(table, [&](Relation index) {
		const Form_pg_index form = index->rd_index;
		for (int i = 0; i < form->indnatts; i++)
			has_code |= form->indkey.values[i] == InvalidAttrNumber; // an expression
		for (int i = 0; i < form->indnkeyatts; i++)
			has_code |= index->rd_opfamily[i] >= FirstNormalObjectId;
		has_code |= catalog::has_users_code(catalog::stored_predicate(form->indexrelid));
	});
	return has_code;
}

// The planner evaluates expressions that statistics are kept of.
static bool
has_statistics_of_expressions(Relation table)
{
	ListCell *cell;
	foreach (cell, RelationGetStatExtList(table)) {
		HeapTuple tuple = SearchSysCache1(STATEXTOID, ObjectIdGetDatum(lfirst_oid(cell)));
		if (!HeapTupleIsValid(tuple))
			continue;
		bool is_null;
		(void) SysCacheGetAttr(STATEXTOID, tuple, Anum_pg_statistic_ext_stxexprs, &is_null);
		ReleaseSysCache(tuple);
		if (!is_null)
			return true;
	}
	return false;
}

// Whether the rows are sent to the partitions by columns, and by operators of PostgreSQL's own.
static bool
has_code_in_partition_key(Relation table)
{
	if (table->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return false;
	const PartitionKey key = RelationGetPartitionKey(table);
	bool has_code = get_partition_exprs(key) != NIL;
	for (int i = 0; i < get_partition_natts(key); i++)
		has_code |= key->partopfamily[i] >= FirstNormalObjectId;
	return has_code;
}

// Policies apply to the owner if they are forced.
static bool
has_code(Relation table, int events)
{
	const char kind = table->rd_rel->relkind;
	const bool is_known = (kind == RELKIND_RELATION && table->rd_rel->relam == HEAP_TABLE_AM_OID) ||
						  kind == RELKIND_PARTITIONED_TABLE;
	return !is_known || table->rd_rules != nullptr || table->rd_rel->relforcerowsecurity ||
		   has_triggers(table, events) || has_code_in_columns(table) ||
		   has_code_in_indexes(table) || has_statistics_of_expressions(table) ||
		   has_code_in_partition_key(table);
}

// What is dropped meanwhile is left to the statement.
bool
has_no_users_code(Oid table, int events)
{
	LockRelationOid(table, AccessShareLock);
	bool has_any = false;
	ListCell *cell;
	foreach (cell, find_all_inheritors(table, AccessShareLock, nullptr)) {
		Relation relation = try_relation_open(lfirst_oid(cell), NoLock);
		if (relation == nullptr)
			continue;
		has_any = has_any || has_code(relation, events);
		relation_close(relation, AccessShareLock);
	}
	return !has_any;
}

// Both are asked: the session is that of the one, and its temporary objects may be those of the other, in a function
// that is SECURITY DEFINER.
static bool
are_of_owner(Oid owner)
{
	return has_privs_of_role(GetUserId(), owner) && has_privs_of_role(GetSessionUserId(), owner);
}

bool
may_run_as_owner(Oid table, int events)
{
	return are_of_owner(catalog::owner_of(table)) || has_no_users_code(table, events);
}

bool
is_for_owner(const Access *accesses, int count)
{
	bool is_for_all = true;
	for (int i = 0; i < count; i++)
		is_for_all = is_for_all && has_no_users_code(accesses[i].table, accesses[i].events);
	if (is_for_all || are_of_owner(catalog::owner_of(accesses[0].table)))
		return true;
	for (int i = 0; i < count; i++) {
		const char *grants = missing_rights::grants_for(
			list_make1(missing_rights::need_of(accesses[i].table, accesses[i].rights)));
		if (grants != nullptr)
			error::no_right_beside_code(get_rel_name(accesses[i].table), grants);
	}
	return false;
}

} // namespace queue_ext::claim
