// upgrade_table.cpp - see upgrade_table.hpp.

#include "../postgres.hpp"

#include "upgrade_table.hpp"

#include "../catalog/owner.hpp"
#include "../compat.hpp"
#include "../definition/archive_table.hpp"
#include "../definition/keep.hpp"
#include "../definition/name.hpp"
#include "../definition/shape.hpp"
#include "../definition/table_command.hpp"
#include "../error.hpp"
#include "../statement/search_path.hpp"

namespace queue_ext::queue {

using definition::AddedColumn;
using definition::Definition;
using statement::Named;

// The column's privileges, or null if it has none of its own. In the current context.
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

// Grants to one role on the table, or on its column of that name, what the item has. It may be of a role that
// has been dropped meanwhile, and then means none.
static void
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
			definition::run_command_on(
				table,
				psprintf("grant %s%s on %s to %s%s", name, of_column, table.name,
						 item.ai_grantee == ACL_ID_PUBLIC ? role : quote_identifier(role),
						 (ACLITEM_GET_GOPTIONS(item) & right) != 0 ? " with grant option" : ""));
}

// The item with these of its rights, and with others that may be granted on where UPDATE may.
static AclItem
with_rights(AclItem item, AclMode like, AclMode of_writers)
{
	const AclMode rights = ACLITEM_GET_PRIVS(item);
	const AclMode options = ACLITEM_GET_GOPTIONS(item);
	ACLITEM_SET_PRIVS_GOPTIONS(item,
							   (rights & like) | ((rights & ACL_UPDATE) != 0 ? of_writers : 0),
							   (options & like) | ((options & ACL_UPDATE) != 0 ? of_writers : 0));
	return item;
}

// Otherwise what roles with privileges on single columns do would fail from now on.
static void
copy_privileges(const Named &table, const AddedColumn &column)
{
	const Acl *privileges = column_privileges(table.table, column.model);
	for (int i = 0; privileges != nullptr && i < ACL_NUM(privileges); i++) {
		const AclItem &item = ACL_DAT(privileges)[i];
		grant_like(table, column.name, with_rights(item, column.like, column.of_writers));
		if (column.beside != nullptr)
			grant_like(table, column.beside, with_rights(item, 0, column.of_writers));
	}
}

// One command, so that the table is locked once and at once as strongly as it must be.
static bool
add_missing(const Named &table, const AddedColumn *columns, int count)
{
	StringInfoData command;
	initStringInfo(&command);
	appendStringInfo(&command, "alter table %s", table.name);
	const AddedColumn *missing[definition::added_table_column_count];
	static_assert(definition::added_archive_column_count <= definition::added_table_column_count);
	int missing_count = 0;
	for (int i = 0; i < count; i++) {
		const AddedColumn &column = columns[i];
		if (!lacks(table.table, column))
			continue;
		appendStringInfo(&command, "%s add column %s %s", missing_count == 0 ? "" : ",",
						 column.name, column.definition);
		missing[missing_count++] = &column;
	}
	if (missing_count == 0)
		return false;
	definition::run_command_on(table, command.data);
	for (int i = 0; i < missing_count; i++)
		copy_privileges(table, *missing[i]);
	return true;
}

bool
add_missing_columns(const Named &table)
{
	return add_missing(table, definition::added_table_columns,
					   definition::added_table_column_count);
}

bool
add_missing_archive_columns(const Named &archive)
{
	return add_missing(archive, definition::added_archive_columns,
					   definition::added_archive_column_count);
}

// By its name: a publication of all tables, or of the schema, has the new one as well.
static bool
is_published(Oid table)
{
	CatCList *publications = SearchSysCacheList1(PUBLICATIONRELMAP, ObjectIdGetDatum(table));
	const bool is_any = publications->n_members > 0;
	ReleaseSysCacheList(publications);
	return is_any;
}

bool
can_get_slots(const Definition *definition)
{
	if (definition::is_for_ever(definition->archive_keep) || definition->has_slots ||
		get_attnum(definition->archive, "slot") != InvalidAttrNumber)
		return false;
	// pg_class may still say that the table has what was dropped.
	Relation archive = relation_open(definition->archive, AccessShareLock);
	const bool is_plain = archive->rd_rel->relkind == RELKIND_RELATION &&
						  archive->trigdesc == nullptr && archive->rd_rules == nullptr &&
						  !archive->rd_rel->relrowsecurity && !archive->rd_rel->relispartition;
	relation_close(archive, NoLock);
	return is_plain && !is_published(definition->archive) && !has_superclass(definition->archive) &&
		   find_inheritance_children(definition->archive, NoLock) == NIL;
}

// The columns that can be written, qualified by nothing.
static const char *
column_list(Oid table)
{
	StringInfoData list;
	initStringInfo(&list);
	Relation relation = relation_open(table, AccessShareLock);
	const TupleDesc columns = RelationGetDescr(relation);
	for (int i = 0; i < columns->natts; i++) {
		const FormData_pg_attribute *column = TupleDescAttr(columns, i);
		if (!column->attisdropped && column->attgenerated == '\0')
			appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "",
							 quote_identifier(NameStr(column->attname)));
	}
	relation_close(relation, NoLock);
	return list.data;
}

// A moment as an expression that no setting changes.
static const char *
moment_text(TimestampTz moment)
{
	constexpr double epoch =
		static_cast<double>(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;
	return psprintf("pg_catalog.to_timestamp(%.6f)",
					epoch + static_cast<double>(moment) / USECS_PER_SEC);
}

// The slot of a row, by its finished_at.
static const char *
slot_text(const Interval &keep, TimestampTz now)
{
	const int64 length = definition::period_length(keep);
	const int64 present = definition::period_of(keep, now);
	StringInfoData text;
	initStringInfo(&text);
	appendStringInfoString(&text, "case");
	for (int64 period = present; period > present - definition::periods_per_keep; period--)
		appendStringInfo(&text, " when finished_at operator(pg_catalog.>=) %s then %d",
						 moment_text(period * length), definition::slot_of(keep, period * length));
	appendStringInfo(&text, " else %d end",
					 definition::slot_of(keep, (present - definition::periods_per_keep) * length));
	return text.data;
}

// Null if the table has those of any new table of its owner.
static const Acl *
table_privileges(Oid table)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	bool is_null;
	const Datum value = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relacl, &is_null);
	const Acl *privileges = is_null ? nullptr : DatumGetAclPCopy(value);
	ReleaseSysCache(tuple);
	return privileges;
}

static void
revoke_all(const Named &table, Oid role)
{
	const char *name = role == ACL_ID_PUBLIC ? "public" : GetUserNameFromId(role, true);
	if (name != nullptr)
		definition::run_command_on(table,
								   psprintf("revoke all on %s from %s", table.name,
											role == ACL_ID_PUBLIC ? name : quote_identifier(name)));
}

// What default privileges have given to others.
static void
revoke_from_others(const Named &table)
{
	const Oid owner = catalog::owner_of(table.table);
	const Acl *privileges = table_privileges(table.table);
	for (int i = 0; privileges != nullptr && i < ACL_NUM(privileges); i++)
		if (ACL_DAT(privileges)[i].ai_grantee != owner)
			revoke_all(table, ACL_DAT(privileges)[i].ai_grantee);
}

// Those that the other table has, and no more.
static void
copy_table_privileges(Oid from, const Named &to)
{
	const Acl *privileges = table_privileges(from);
	if (privileges != nullptr)
		revoke_all(to, catalog::owner_of(to.table));
	for (int i = 0; privileges != nullptr && i < ACL_NUM(privileges); i++)
		grant_like(to, nullptr, ACL_DAT(privileges)[i]);
}

static void
copy_column_privileges(Oid from, const Named &to)
{
	Relation relation = relation_open(from, AccessShareLock);
	const TupleDesc columns = RelationGetDescr(relation);
	for (int i = 0; i < columns->natts; i++) {
		const FormData_pg_attribute *column = TupleDescAttr(columns, i);
		if (column->attisdropped)
			continue;
		const Acl *privileges = column_privileges(from, NameStr(column->attname));
		for (int item = 0; privileges != nullptr && item < ACL_NUM(privileges); item++)
			grant_like(to, NameStr(column->attname), ACL_DAT(privileges)[item]);
	}
	relation_close(relation, NoLock);
}

// Gives the plain table another name, and returns that. Raises 42622, 42P07.
static Named
put_aside(const Definition *definition)
{
	const Oid archive = definition->archive;
	const char *name = psprintf("%s_plain", get_rel_name(archive));
	if (strlen(name) >= NAMEDATALEN)
		error::name_too_long(name);
	definition::run_command_on(
		definition->tables[0],
		psprintf("alter table %s rename to %s", definition->archive_name, quote_identifier(name)));
	const Named aside{archive, definition::qualified_name(archive)};
	statement::check_named(aside);
	return aside;
}

Oid
give_slots(const Definition *definition)
{
	const Interval &keep = definition->archive_keep;
	const Oid schema = get_rel_namespace(definition->archive);
	const char *short_name = get_rel_name(definition->archive);
	const char *name = definition->archive_name;
	definition::run_command_on(definition->tables[0],
							   psprintf("lock table %s in share mode", definition->source_name));
	definition::run_command_on(definition->tables[1],
							   psprintf("lock table %s in access exclusive mode", name));
	const Named plain = put_aside(definition);
	definition::run_command_on(plain,
							   psprintf("create table %s (like %s including all excluding indexes"
										" excluding identity, slot pg_catalog.int2 not null,"
										" primary key (id, slot)) partition by list (slot)",
										name, plain.name));
	const Named archive{get_relname_relid(short_name, schema), name};
	statement::check_named(archive);
	definition::give_to_owner_of(plain.table, archive);
	definition::make_slots(archive.table);
	revoke_from_others(archive);
	ListCell *cell;
	foreach (cell, find_inheritance_children(archive.table, NoLock))
		revoke_from_others({lfirst_oid(cell), definition::qualified_name(lfirst_oid(cell))});
	copy_table_privileges(plain.table, archive);
	copy_column_privileges(plain.table, archive);
	const TimestampTz now = GetCurrentTimestamp();
	const char *columns = column_list(plain.table);
	const char *copy = psprintf("insert into %s (%s, slot) select %s, %s from only %s"
								" where finished_at operator(pg_catalog.>) %s",
								name, columns, columns, slot_text(keep, now), plain.name,
								moment_text(definition::cutoff_of(keep, now)));
	// Checks and generated columns are the owner's code. The transaction's snapshot may be older than the locks.
	catalog::as_restricted_owner_of(archive.table, [&] {
		statement::with_search_path(statement::bare_search_path,
									[&] { definition::run_newest_on(archive, copy); });
	});
	definition::drop_table(plain);
	return archive.table;
}

} // namespace queue_ext::queue
