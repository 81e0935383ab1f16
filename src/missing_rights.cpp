// missing_rights.cpp - see missing_rights.hpp.

#include "missing_rights.hpp"

#include "compat.hpp"

namespace queue_ext::missing_rights {

// The number of an attribute as a member of a set.
static int
member_of(AttrNumber number)
{
	return number - FirstLowInvalidHeapAttributeNumber;
}

// The set that asks for the right on the whole relation.
static Bitmapset *
whole_row()
{
	return bms_make_singleton(member_of(InvalidAttrNumber));
}

Need *
need_of(Oid relation, AclMode rights)
{
	auto *need = static_cast<Need *>(palloc(sizeof(Need)));
	*need = {relation, GetUserId(), rights, whole_row(), whole_row(), whole_row()};
	return need;
}

Bitmapset *
column_set(Oid relation, const char *const *names, int count)
{
	Bitmapset *columns = nullptr;
	for (int i = 0; i < count; i++) {
		const AttrNumber number = get_attnum(relation, names[i]);
		if (number == InvalidAttrNumber)
			return whole_row();
		columns = bms_add_member(columns, member_of(number));
	}
	return columns;
}

// Tree walker, also of the queries of sub-selects; never stops. The context is a List **.
static bool
add_needs(Node *node, void *needs)
{
	if (node == nullptr)
		return false;
	check_stack_depth();
	if (!IsA(node, Query))
		return compat::walk_tree(node, add_needs, needs);
	auto *query = reinterpret_cast<Query *>(node);
	compat::each_permission(query, [&](const compat::Permission &checked) {
		auto *need = static_cast<Need *>(palloc(sizeof(Need)));
		*need = {checked.relation, OidIsValid(checked.role) ? checked.role : GetUserId(),
				 checked.rights,   checked.selected,
				 checked.inserted, checked.updated};
		auto **list = static_cast<List **>(needs);
		*list = lappend(*list, need);
	});
	return compat::walk_query(query, add_needs, needs);
}

List *
needs_of(Query *query)
{
	List *needs = NIL;
	(void) add_needs(reinterpret_cast<Node *>(query), static_cast<void *>(&needs));
	return needs;
}

// A statement may name a relation several times, so what it needs there is put together.
static List *
merge(const List *needs)
{
	List *merged = NIL;
	ListCell *cell;
	foreach (cell, needs) {
		const auto *need = static_cast<const Need *>(lfirst(cell));
		Need *into = nullptr;
		ListCell *other;
		foreach (other, merged) {
			auto *known = static_cast<Need *>(lfirst(other));
			if (known->relation == need->relation && known->role == need->role)
				into = known;
		}
		if (into == nullptr) {
			into = static_cast<Need *>(palloc0(sizeof(Need)));
			into->relation = need->relation;
			into->role = need->role;
			merged = lappend(merged, into);
		}
		into->rights |= need->rights;
		into->selected = bms_add_members(into->selected, need->selected);
		into->inserted = bms_add_members(into->inserted, need->inserted);
		into->updated = bms_add_members(into->updated, need->updated);
	}
	return merged;
}

// Whether the relation has a column of that number that is not dropped.
static bool
is_column(Oid relation, AttrNumber number)
{
	HeapTuple tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relation), Int16GetDatum(number));
	if (!HeapTupleIsValid(tuple))
		return false;
	const bool is_dropped = reinterpret_cast<Form_pg_attribute>(GETSTRUCT(tuple))->attisdropped;
	ReleaseSysCache(tuple);
	return !is_dropped;
}

// From the syscache: the relation may not be locked, and the caller may have no right to lock it.
static int
column_count(Oid relation)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	if (!HeapTupleIsValid(tuple))
		return 0;
	const int16 most = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relnatts;
	ReleaseSysCache(tuple);
	int count = 0;
	for (AttrNumber number = 1; number <= most; number++)
		count += is_column(relation, number) ? 1 : 0;
	return count;
}

static void
append_item(StringInfo items, const char *item)
{
	appendStringInfo(items, "%s%s", items->len > 0 ? ", " : "", item);
}

// Appends the right with those of the columns that it is missing on. On the whole relation where all
// are, and where it is needed on the whole row or a system column.
static void
append_missing(StringInfo rights, const Need *need, AclMode right, const char *name,
			   const Bitmapset *columns)
{
	if ((need->rights & right) == 0 ||
		pg_class_aclcheck(need->relation, need->role, right) == ACLCHECK_OK)
		return;
	StringInfoData missing;
	initStringInfo(&missing);
	int count = 0;
	bool is_whole = bms_is_empty(columns);
	if (is_whole && right != ACL_DELETE &&
		pg_attribute_aclcheck_all(need->relation, need->role, right, ACLMASK_ANY) == ACLCHECK_OK)
		return;
	for (int member = -1; (member = bms_next_member(columns, member)) >= 0;) {
		const auto number = static_cast<AttrNumber>(member + FirstLowInvalidHeapAttributeNumber);
		const bool is_granted =
			number == InvalidAttrNumber
				? pg_attribute_aclcheck_all(need->relation, need->role, right, ACLMASK_ALL) ==
					  ACLCHECK_OK
				: pg_attribute_aclcheck(need->relation, number, need->role, right) == ACLCHECK_OK;
		if (is_granted)
			continue;
		count++;
		if (number <= 0)
			is_whole = true;
		else
			append_item(&missing, quote_identifier(get_attname(need->relation, number, false)));
	}
	if (is_whole || (count > 0 && count == column_count(need->relation)))
		append_item(rights, name);
	else if (count > 0)
		append_item(rights, psprintf("%s (%s)", name, missing.data));
}

// Null if nothing is missing, or the relation has been dropped.
static const char *
grant_for(const Need *need)
{
	const char *name = get_rel_name(need->relation);
	const char *schema = get_namespace_name(get_rel_namespace(need->relation));
	if (name == nullptr || schema == nullptr)
		return nullptr;
	StringInfoData rights;
	initStringInfo(&rights);
	append_missing(&rights, need, ACL_SELECT, "SELECT", need->selected);
	append_missing(&rights, need, ACL_INSERT, "INSERT", need->inserted);
	append_missing(&rights, need, ACL_UPDATE, "UPDATE", need->updated);
	append_missing(&rights, need, ACL_DELETE, "DELETE", nullptr);
	if (rights.len == 0)
		return nullptr;
	return psprintf("GRANT %s ON %s TO %s", rights.data, quote_qualified_identifier(schema, name),
					quote_identifier(GetUserNameFromId(need->role, false)));
}

const char *
grants_for(const List *needs)
{
	StringInfoData commands;
	initStringInfo(&commands);
	ListCell *cell;
	foreach (cell, merge(needs)) {
		const char *grant = grant_for(static_cast<const Need *>(lfirst(cell)));
		if (grant != nullptr)
			appendStringInfo(&commands, "%s%s", commands.len > 0 ? "; " : "", grant);
	}
	return commands.len > 0 ? commands.data : nullptr;
}

} // namespace queue_ext::missing_rights
