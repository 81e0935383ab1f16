// as_owner.cpp - see as_owner.hpp.

#include "../postgres.hpp"

#include "as_owner.hpp"

#include "../catalog/indexes.hpp"
#include "../catalog/users_code.hpp"
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
// read and write other tables.
static bool
has_triggers(Relation table, int events)
{
	const TriggerDesc *triggers = CopyTriggerDesc(table->trigdesc);
	for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++)
		if ((triggers->triggers[i].tgtype & events) != 0 &&
			(triggers->triggers[i].tgqual != nullptr ||
			 !wake::is_wake_function(triggers->triggers[i].tgfoid)))
			return true;
	return false;
}

// Whether values of the columns are made by code: by that of their types, or a default. What makes a generated column is
// a default here.
static bool
has_code_in_values(Relation table)
{
	TupleDesc columns = RelationGetDescr(table);
	for (int i = 0; i < columns->natts; i++) {
		const Form_pg_attribute column = TupleDescAttr(columns, i);
		if (!column->attisdropped && !catalog::is_plain_type(column->atttypid))
			return true;
	}
	const TupleConstr *constraints = columns->constr;
	for (int i = 0; constraints != nullptr && i < constraints->num_defval; i++)
		if (has_users_code_in(constraints->defval[i].adbin))
			return true;
	return false;
}

// Whether a user has made a cast of the type, or to it.
static bool
has_casts(Oid type)
{
	bool has_any = false;
	Relation casts = table_open(CastRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(casts, InvalidOid, false, nullptr, 0, nullptr);
	HeapTuple tuple;
	while (!has_any && HeapTupleIsValid(tuple = systable_getnext(scan))) {
		const auto *cast = reinterpret_cast<Form_pg_cast>(GETSTRUCT(tuple));
		has_any = cast->castfunc >= FirstNormalObjectId &&
				  (cast->castsource == type || cast->casttarget == type);
	}
	systable_endscan(scan);
	table_close(casts, AccessShareLock);
	return has_any;
}

static bool has_casts_within(Oid type);

static bool
has_casts_in_columns(Oid composite)
{
	TupleDesc columns = lookup_rowtype_tupdesc_copy(composite, -1);
	bool has_any = false;
	for (int i = 0; i < columns->natts && !has_any; i++) {
		const Form_pg_attribute column = TupleDescAttr(columns, i);
		has_any = !column->attisdropped && has_casts_within(column->atttypid);
	}
	FreeTupleDesc(columns);
	return has_any;
}

// Whether a value of the type may be cast by code, as a whole or in its parts. A type of PostgreSQL's own has casts by users
// only if a superuser has made them, or from types that are not. A range type has a cast of its own, to its multirange.
static bool
has_casts_within(Oid type)
{
	check_stack_depth();
	if (type < FirstNormalObjectId)
		return false;
	if (has_casts(type))
		return true;
	switch (get_typtype(type)) {
		case TYPTYPE_DOMAIN:
			return has_casts_within(getBaseType(type));
		case TYPTYPE_COMPOSITE:
			return has_casts_in_columns(type);
		default:
			return has_casts_within(get_element_type(type));
	}
}

// Whether a value may be cast on its way from a column, or to one, by code.
static bool
has_code_in_casts(Relation table)
{
	TupleDesc columns = RelationGetDescr(table);
	for (int i = 0; i < columns->natts; i++) {
		const Form_pg_attribute column = TupleDescAttr(columns, i);
		if (!column->attisdropped && has_casts_within(column->atttypid))
			return true;
	}
	return false;
}

// The planner may evaluate checks, too.
static bool
has_code_in_checks(Relation table)
{
	const TupleConstr *constraints = RelationGetDescr(table)->constr;
	for (int i = 0; constraints != nullptr && i < constraints->num_check; i++)
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

// Whether rows are sent to the partitions of the table, if it has any, by more than columns and operators of
// PostgreSQL's own. Reads the catalog alone: the relcache would evaluate the expressions.
static bool
has_code_in_partition_key(Oid table)
{
	HeapTuple tuple = SearchSysCache1(PARTRELID, ObjectIdGetDatum(table));
	if (!HeapTupleIsValid(tuple))
		return false;
	bool is_null;
	(void) SysCacheGetAttr(PARTRELID, tuple, Anum_pg_partitioned_table_partexprs, &is_null);
	bool has_code = !is_null;
	const Datum classes =
		SysCacheGetAttr(PARTRELID, tuple, Anum_pg_partitioned_table_partclass, &is_null);
	const auto *list = reinterpret_cast<const oidvector *>(DatumGetPointer(classes));
	for (int i = 0; i < list->dim1; i++)
		has_code |= list->values[i] >= FirstNormalObjectId;
	ReleaseSysCache(tuple);
	return has_code;
}

// A partition's rows are checked by the keys of all tables above it.
static bool
has_code_in_ancestors(Relation table)
{
	if (!table->rd_rel->relispartition)
		return false;
	ListCell *cell;
	foreach (cell, get_partition_ancestors(RelationGetRelid(table)))
		if (has_code_in_partition_key(lfirst_oid(cell)))
			return true;
	return false;
}

static bool
has_code(Relation table, int events, Oid role)
{
	constexpr int makes_rows = TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE;
	const char kind = table->rd_rel->relkind;
	const bool is_known = (kind == RELKIND_RELATION && table->rd_rel->relam == HEAP_TABLE_AM_OID) ||
						  kind == RELKIND_PARTITIONED_TABLE;
	return !is_known || table->rd_rules != nullptr ||
		   check_enable_rls(RelationGetRelid(table), role, true) == RLS_ENABLED ||
		   has_triggers(table, events) ||
		   ((events & makes_rows) != 0 && has_code_in_values(table)) || has_code_in_casts(table) ||
		   has_code_in_checks(table) || has_code_in_indexes(table) ||
		   has_statistics_of_expressions(table) ||
		   has_code_in_partition_key(RelationGetRelid(table)) || has_code_in_ancestors(table);
}

// To truncate a table takes more, but only if nobody has it locked: who does that looks again.
static LOCKMODE
lock_for(int events)
{
	return (events & ~TRIGGER_TYPE_TRUNCATE) == 0 ? AccessShareLock : RowExclusiveLock;
}

// Calls visit() with the table and what the access writes of it, locked as the statement does. What is dropped meanwhile is left
// to the statement.
template <typename Visit>
static void
each_written(const TableAccess &access, Visit &&visit)
{
	const LOCKMODE lock = lock_for(access.events);
	const Oid written = OidIsValid(access.partition) ? access.partition : access.table;
	LockRelationOid(access.table, lock);
	if (written != access.table)
		LockRelationOid(written, lock);
	ListCell *cell;
	foreach (cell,
			 list_append_unique_oid(find_all_inheritors(written, lock, nullptr), access.table)) {
		Relation relation = try_relation_open(lfirst_oid(cell), NoLock);
		if (relation == nullptr)
			continue;
		visit(relation);
		relation_close(relation, NoLock);
	}
}

bool
has_no_users_code(Oid table, int events, Oid role)
{
	return has_no_users_code({table, 0, events}, role);
}

bool
has_no_users_code(const TableAccess &access, Oid role)
{
	bool has_any = false;
	each_written(access, [&](Relation relation) {
		has_any = has_any || has_code(relation, access.events, role);
	});
	return !has_any;
}

// What a foreign key does to the rows of the other table when a row of this one is deleted; 0: nothing, or it is no such trigger.
static int
cascade_of(Oid function)
{
	switch (function) {
		case F_RI_FKEY_CASCADE_DEL:
			return TRIGGER_TYPE_DELETE;
		case F_RI_FKEY_SETNULL_DEL:
		case F_RI_FKEY_SETDEFAULT_DEL:
			return TRIGGER_TYPE_UPDATE;
		default:
			return 0;
	}
}

namespace {

// The tables that foreign keys have led to.
struct Seen
{
	List *deleted;
	List *updated;
};

} // namespace

static bool may_defer_below(Oid table, int events, Seen *seen);

// Whether the trigger is of a constraint, and fires for an UPDATE only if the values of the constraint's columns change.
static bool
is_of_key(const Trigger &trigger)
{
	return trigger.tgfoid == F_UNIQUE_KEY_RECHECK ||
		   RI_FKey_trigger_type(trigger.tgfoid) != RI_TRIGGER_NONE;
}

// A constraint that is deferrable has such triggers, too. writes_keys: an UPDATE writes columns that may be of constraints.
static bool
may_defer(Relation table, int events, bool writes_keys, Seen *seen)
{
	const TriggerDesc *triggers = CopyTriggerDesc(table->trigdesc);
	for (int i = 0; triggers != nullptr && i < triggers->numtriggers; i++) {
		const Trigger &trigger = triggers->triggers[i];
		if ((trigger.tgtype & events) == 0 || trigger.tgenabled == TRIGGER_DISABLED ||
			(events == TRIGGER_TYPE_UPDATE && !writes_keys && is_of_key(trigger)))
			continue;
		const int cascade = cascade_of(trigger.tgfoid);
		if (trigger.tgdeferrable ||
			(cascade != 0 && may_defer_below(trigger.tgconstrrelid, cascade, seen)))
			return true;
	}
	return false;
}

// The same of a table that a foreign key leads to, and of its partitions. Tables of foreign keys may refer to each other.
static bool
may_defer_below(Oid table, int events, Seen *seen)
{
	check_stack_depth();
	List **all = events == TRIGGER_TYPE_DELETE ? &seen->deleted : &seen->updated;
	if (list_member_oid(*all, table))
		return false;
	*all = lappend_oid(*all, table);
	LockRelationOid(table, AccessShareLock);
	bool may_any = false;
	ListCell *cell;
	foreach (cell, find_all_inheritors(table, AccessShareLock, nullptr)) {
		Relation relation = try_relation_open(lfirst_oid(cell), NoLock);
		if (relation == nullptr)
			continue;
		may_any = may_any || may_defer(relation, events, true, seen);
		relation_close(relation, NoLock);
	}
	return may_any;
}

void
check_defers_nothing(const TableAccess *accesses, int count)
{
	for (int i = 0; i < count; i++) {
		Seen seen{};
		bool may_any = false;
		each_written(accesses[i], [&](Relation relation) {
			may_any = may_any || may_defer(relation, accesses[i].events, false, &seen);
		});
		if (may_any)
			error::may_fire_at_commit(get_rel_name(accesses[i].table));
	}
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
	const Oid owner = catalog::owner_of(table);
	return are_of_owner(owner) || has_no_users_code(table, events, owner);
}

// Whether no message of the class has a value of a row: they name tables, columns and constraints, or are of locks, of the
// transaction or the server. Others quote what a check, say, casts to a number or to the name of a type.
static bool
quotes_no_value(int code)
{
	switch (ERRCODE_TO_CATEGORY(code)) {
		case ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION:
		case ERRCODE_INVALID_TRANSACTION_STATE:
		case ERRCODE_TRANSACTION_ROLLBACK:
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_SYSTEM_ERROR:
			return true;
		case ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE:
			return code != ERRCODE_UNSAFE_NEW_ENUM_VALUE_USAGE;
		default:
			return false;
	}
}

void
raise_without_rows()
{
	ErrorData *error = CopyErrorData();
	FlushErrorState();
	const bool has_row =
		ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION;
	if (!quotes_no_value(error->sqlerrcode))
		error::hide_message(error);
	else if (has_row && error->detail != nullptr) {
		if (error->detail_log == nullptr)
			error->detail_log = error->detail;
		error->detail = nullptr;
	}
	ReThrowError(error);
}

Runner
choose_runner(const TableAccess *accesses, int count, Manner manner)
{
	const Oid owner = catalog::owner_of(accesses[0].table);
	if (are_of_owner(owner))
		return Runner::trusted_owner;
	const TableAccess *found = nullptr;
	for (int i = 0; i < count && found == nullptr; i++)
		if (!has_no_users_code(accesses[i], owner))
			found = &accesses[i];
	if (found == nullptr)
		return Runner::owner;
	if (manner == Manner::owner_only)
		error::code_of_users(get_rel_name(found->table));
	for (int i = 0; i < count; i++) {
		const char *grants = missing_rights::grants_for(
			list_make1(missing_rights::need_of(accesses[i].table, accesses[i].rights)));
		if (grants != nullptr)
			error::no_right_beside_code(get_rel_name(accesses[i].table), grants);
	}
	return Runner::caller;
}

} // namespace queue_ext::claim
