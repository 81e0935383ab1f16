// upgrade_table.cpp - see upgrade_table.hpp.

#include "../postgres.hpp"

#include "upgrade_table.hpp"

#include "shape.hpp"

namespace queue_ext::definition {

using statement::Named;

// Returns the column's privileges, or null if it has none of its own. In the current context.
static Acl *
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

// Grants to one role on the new column what it may do with the model. An entry may be of a role that
// has been dropped meanwhile, and then means nobody.
static void
grant_like(const Named &table, const AddedColumn &column, const AclItem &item)
{
	constexpr struct
	{
		AclMode right;
		const char *name;
	} rights[] = {
		{ACL_SELECT, "select"},
		{ACL_INSERT, "insert"},
		{ACL_UPDATE, "update"},
		{ACL_REFERENCES, "references"},
	};
	const char *role =
		item.ai_grantee == ACL_ID_PUBLIC ? "public" : GetUserNameFromId(item.ai_grantee, true);
	if (role == nullptr)
		return;
	for (const auto &[right, name] : rights)
		if ((ACLITEM_GET_PRIVS(item) & right) != 0)
			run_command_on(
				table,
				psprintf("grant %s (%s) on %s to %s%s", name, column.name, table.name,
						 item.ai_grantee == ACL_ID_PUBLIC ? role : quote_identifier(role),
						 (ACLITEM_GET_GOPTIONS(item) & right) != 0 ? " with grant option" : ""));
}

// Otherwise the claims of a role with privileges on single columns would fail from now on.
static void
copy_privileges(const Named &table, const AddedColumn &column)
{
	const Acl *privileges = column_privileges(table.table, column.model);
	for (int i = 0; privileges != nullptr && i < ACL_NUM(privileges); i++)
		grant_like(table, column, ACL_DAT(privileges)[i]);
}

// One command, so that the table is locked once and at once as strongly as it must be.
bool
add_missing_columns(const Named &table)
{
	StringInfoData command;
	initStringInfo(&command);
	appendStringInfo(&command, "alter table %s", table.name);
	bool is_missing[added_column_count];
	int count = 0;
	for (int i = 0; i < added_column_count; i++) {
		const AddedColumn &column = added_columns[i];
		is_missing[i] = lacks(table.table, column);
		if (is_missing[i])
			appendStringInfo(&command, "%s add column %s %s", count++ == 0 ? "" : ",", column.name,
							 column.definition);
	}
	if (count == 0)
		return false;
	run_command_on(table, command.data);
	for (int i = 0; i < added_column_count; i++)
		if (is_missing[i])
			copy_privileges(table, added_columns[i]);
	return true;
}

} // namespace queue_ext::definition
