// upgrade_table.cpp - see upgrade_table.hpp.

#include "../postgres.hpp"

#include "upgrade_table.hpp"

#include "../compat.hpp"
#include "shape.hpp"

namespace queue_ext::definition {

using statement::Named;

Acl *
column_privileges(Oid table, const char *column)
{
	HeapTuple tuple = SearchSysCacheAttName(table, column);
	if (!HeapTupleIsValid(tuple))
		return nullptr;
	bool is_null;
	const Datum value = SysCacheGetAttr(ATTNAME, tuple, Anum_pg_attribute_attacl, &is_null);
	Acl *privileges = is_null ? nullptr : DatumGetAclPCopy(value);
	ReleaseSysCache(tuple);
	return privileges;
}

void
grant_like(const Named &table, const char *column, const AclItem &item)
{
	constexpr struct
	{
		AclMode right;
		const char *name;
	} rights[] = {
		{ACL_SELECT, "select"},   {ACL_INSERT, "insert"},
		{ACL_UPDATE, "update"},   {ACL_REFERENCES, "references"},
		{ACL_DELETE, "delete"},   {ACL_TRUNCATE, "truncate"},
		{ACL_TRIGGER, "trigger"}, {compat::maintain_right, "maintain"},
	};
	const char *role =
		item.ai_grantee == ACL_ID_PUBLIC ? "public" : GetUserNameFromId(item.ai_grantee, true);
	if (role == nullptr)
		return;
	const char *of_column = column == nullptr ? "" : psprintf(" (%s)", quote_identifier(column));
	for (const auto &[right, name] : rights)
		if ((ACLITEM_GET_PRIVS(item) & right) != 0)
			run_command_on(
				table,
				psprintf("grant %s%s on %s to %s%s", name, of_column, table.name,
						 item.ai_grantee == ACL_ID_PUBLIC ? role : quote_identifier(role),
						 (ACLITEM_GET_GOPTIONS(item) & right) != 0 ? " with grant option" : ""));
}

// Otherwise the claims of a role with privileges on single columns would fail from now on.
static void
copy_privileges(const Named &table, const AddedColumn &column)
{
	const Acl *privileges = column_privileges(table.table, column.model);
	for (int i = 0; privileges != nullptr && i < ACL_NUM(privileges); i++)
		grant_like(table, column.name, ACL_DAT(privileges)[i]);
}

// One command, so that the table is locked once and at once as strongly as it must be.
static bool
add_missing(const Named &table, List *columns)
{
	StringInfoData command;
	initStringInfo(&command);
	appendStringInfo(&command, "alter table %s", table.name);
	List *missing = NIL;
	ListCell *cell;
	foreach (cell, columns) {
		auto *column = static_cast<AddedColumn *>(lfirst(cell));
		if (!lacks(table.table, *column))
			continue;
		appendStringInfo(&command, "%s add column %s %s", missing == NIL ? "" : ",", column->name,
						 column->definition);
		missing = lappend(missing, column);
	}
	if (missing == NIL)
		return false;
	run_command_on(table, command.data);
	foreach (cell, missing)
		copy_privileges(table, *static_cast<const AddedColumn *>(lfirst(cell)));
	return true;
}

// Those of a queue's table and of its archive, and one that only the one or the other has. A list's elements cannot be
// constant.
static List *
columns_with(const AddedColumn &more)
{
	List *columns = NIL;
	for (const AddedColumn &column : added_columns)
		columns = lappend(columns, const_cast<AddedColumn *>(&column));
	return lappend(columns, const_cast<AddedColumn *>(&more));
}

bool
add_missing_columns(const Named &table)
{
	return add_missing(table, columns_with(added_released_column));
}

bool
add_missing_archive_columns(const Named &archive)
{
	return add_missing(archive, columns_with(added_result_column));
}

} // namespace queue_ext::definition
