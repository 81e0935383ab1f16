// shape.cpp - see shape.hpp.

#include "../postgres.hpp"

#include "shape.hpp"

#include "../catalog/citus.hpp"
#include "../error.hpp"

namespace queue_ext::definition {

namespace {

enum class Kind { nullable, required, defaulted };

// A column that the table must have.
struct Column
{
	const char *name;
	Oid type;
	Kind kind;
	Oid collation; // InvalidOid: any
};

} // namespace

// The columns of the first layout's table, and so of create_table_text (managed.cpp), too, ...
static constexpr Column table_columns[] = {
	{"id", INT8OID, Kind::defaulted},
	{"run_at", TIMESTAMPTZOID, Kind::defaulted},
	{"created_at", TIMESTAMPTZOID, Kind::defaulted},
	{"leased_until", TIMESTAMPTZOID, Kind::nullable},
	{"dead_at", TIMESTAMPTZOID, Kind::nullable},
	{"attempt", INT4OID, Kind::defaulted},
	{"max_attempts", INT4OID, Kind::defaulted},
	{"priority", INT2OID, Kind::defaulted},
	{"leased_by", TEXTOID, Kind::nullable},
	{"last_error", TEXTOID, Kind::nullable},
	{"payload", JSONBOID, Kind::required},
	{"unique_key", TEXTOID, Kind::nullable, C_COLLATION_OID},
};

// ... and of create_archive_text.
static constexpr Column archive_columns[] = {
	{"id", INT8OID, Kind::required},
	{"run_at", TIMESTAMPTZOID, Kind::required},
	{"created_at", TIMESTAMPTZOID, Kind::required},
	{"finished_at", TIMESTAMPTZOID, Kind::required},
	{"attempt", INT4OID, Kind::required},
	{"max_attempts", INT4OID, Kind::required},
	{"priority", INT2OID, Kind::required},
	{"state", TEXTOID, Kind::required},
	{"leased_by", TEXTOID, Kind::nullable},
	{"last_error", TEXTOID, Kind::nullable},
	{"payload", JSONBOID, Kind::required},
};

// The columns that the second layout adds to tables and archives, and to tables or archives alone. The texts, and the
// columns that an upgrade adds (AddedColumn), agree with them.
static constexpr Column second_columns[] = {
	{"claimed_at", TIMESTAMPTZOID, Kind::nullable},
	{"kind", TEXTOID, Kind::nullable, C_COLLATION_OID},
	{"errors", JSONBOID, Kind::nullable},
	{"progress", JSONBOID, Kind::nullable},
	{"origin", JSONBOID, Kind::nullable},
};
static constexpr Column released_column = {"released", INT4OID, Kind::nullable};
static constexpr Column expires_at_column = {"expires_at", TIMESTAMPTZOID, Kind::nullable};
static constexpr Column result_column = {"result", JSONBOID, Kind::nullable};

// The places of four of them.
constexpr int claimed_at_column = 0;
constexpr int kind_column = 1;
constexpr int progress_column = 3;
constexpr int origin_column = 4;

constexpr AclMode all = ~static_cast<AclMode>(0);

// What the others are written along with: claimed_at with leased_by by a claim, kind with priority by a sender, released
// with max_attempts by a release. A failure, which writes last_error, also reads errors and leased_by. An extension, which
// writes leased_until, also reads progress, which no other caller does. No caller writes origin. expires_at is said
// along with run_at, by a sender or a requeue.
const AddedColumn added_table_columns[added_table_column_count] = {
	{"claimed_at", "pg_catalog.timestamptz", "leased_by", all},
	{"kind", "pg_catalog.text collate pg_catalog.\"C\"", "priority", all},
	{"released", "pg_catalog.int4", "max_attempts", all},
	{"errors", "pg_catalog.jsonb", "last_error", all, ACL_SELECT, "leased_by"},
	{"progress", "pg_catalog.jsonb", "leased_until", ACL_UPDATE, ACL_SELECT},
	{"origin", "pg_catalog.jsonb", "payload", ACL_SELECT},
	{"expires_at", "pg_catalog.timestamptz", "run_at", all},
};
static_assert(lengthof(second_columns) + 2 == added_table_column_count);

// In an archive whoever may write the last error may write a result, and whoever may see the payload may see how far the job
// had got, and where it has come from.
const AddedColumn added_archive_columns[added_archive_column_count] = {
	{"claimed_at", "pg_catalog.timestamptz", "leased_by", all},
	{"kind", "pg_catalog.text collate pg_catalog.\"C\"", "priority", all},
	{"result", "pg_catalog.jsonb", "last_error", all},
	{"errors", "pg_catalog.jsonb", "last_error", all},
	{"progress", "pg_catalog.jsonb", "payload", all},
	{"origin", "pg_catalog.jsonb", "payload", all},
};
static_assert(lengthof(second_columns) + 1 == added_archive_column_count);

// Of archives alone.
static constexpr Column slot_column = {"slot", INT2OID, Kind::required};

// A generated column does not count, since queue_send would have to write it.
static bool
is_like(const FormData_pg_attribute *attribute, const Column &column)
{
	const bool has_value = attribute->atthasdef || attribute->attidentity != '\0';
	return attribute->attnum > 0 && attribute->atttypid == column.type &&
		   attribute->atttypmod == -1 && attribute->attgenerated == '\0' &&
		   attribute->attnotnull == (column.kind != Kind::nullable) &&
		   (column.kind != Kind::defaulted || has_value) &&
		   (!OidIsValid(column.collation) || attribute->attcollation == column.collation);
}

static bool
has_column(Oid table, const Column &column)
{
	HeapTuple tuple = SearchSysCacheAttName(table, column.name);
	if (!HeapTupleIsValid(tuple))
		return false;
	const bool is_it = is_like(reinterpret_cast<Form_pg_attribute>(GETSTRUCT(tuple)), column);
	ReleaseSysCache(tuple);
	return is_it;
}

static bool
has_column(Relation table, const Column &column)
{
	const TupleDesc descriptor = RelationGetDescr(table);
	for (int i = 0; i < descriptor->natts; i++) {
		const FormData_pg_attribute *attribute = TupleDescAttr(descriptor, i);
		if (!attribute->attisdropped && strcmp(NameStr(attribute->attname), column.name) == 0)
			return is_like(attribute, column);
	}
	return false;
}

// "It needs a column ..."
static const char *
need_of(const Column &column)
{
	constexpr const char *wanted[] = {"nullable", "not null", "not null, with a default"};
	return psprintf("It needs a column \"%s\" of type %s%s, %s.", column.name,
					format_type_be(column.type),
					OidIsValid(column.collation) ? " collate \"C\"" : "",
					wanted[static_cast<int>(column.kind)]);
}

// The sentence names the first fault only.
template <typename Table>
static const char *
fault_of(Table table, char kind, const Column *columns, int count)
{
	if (kind != RELKIND_RELATION)
		return "It is no ordinary table.";
	for (int i = 0; i < count; i++)
		if (!has_column(table, columns[i]))
			return need_of(columns[i]);
	return nullptr;
}

bool
has_progress(Oid table)
{
	return has_column(table, second_columns[progress_column]);
}

bool
has_origin(Oid table)
{
	return has_column(table, second_columns[origin_column]);
}

bool
has_kind(Oid table)
{
	return has_column(table, second_columns[kind_column]);
}

const char *
fault_of_table(Oid table)
{
	return fault_of(table, get_rel_relkind(table), table_columns, lengthof(table_columns));
}

const char *
fault_of_table(Relation table)
{
	return fault_of(table, table->rd_rel->relkind, table_columns, lengthof(table_columns));
}

bool
has_slots(Oid archive)
{
	return get_rel_relkind(archive) == RELKIND_PARTITIONED_TABLE &&
		   has_column(archive, slot_column);
}

const char *
fault_of_archive(Oid table)
{
	const char kind = has_slots(table) ? RELKIND_RELATION : get_rel_relkind(table);
	return fault_of(table, kind, archive_columns, lengthof(archive_columns));
}

template <typename Table>
static Layout
find_layout(Table table)
{
	for (const Column &column : second_columns)
		if (!has_column(table, column))
			return Layout::first;
	return has_column(table, released_column) && has_column(table, expires_at_column)
			   ? Layout::second
			   : Layout::first;
}

Layout
layout_of(Oid table)
{
	return find_layout(table);
}

Layout
layout_of(Relation table)
{
	return find_layout(table);
}

// Of those columns. Not of other types: the cast to the other's would be code of users.
template <typename IsWanted>
static const char *
shared_columns(Oid table, Oid other, IsWanted &&is_wanted)
{
	StringInfoData list;
	initStringInfo(&list);
	for (const Column &column : second_columns)
		if (is_wanted(column) && has_column(table, column) && has_column(other, column))
			appendStringInfo(&list, ", %s", column.name);
	return list.data;
}

const char *
shared_second_columns(Oid table, Oid archive)
{
	return shared_columns(table, archive, [](const Column &) { return true; });
}

const char *
shared_dead_columns(Oid table, Oid dead_queue)
{
	return shared_columns(table, dead_queue, [](const Column &column) {
		return &column != &second_columns[claimed_at_column] &&
			   &column != &second_columns[origin_column];
	});
}

bool
has_claimed_at(Oid table)
{
	return has_column(table, second_columns[claimed_at_column]);
}

bool
counts_releases(Oid table)
{
	return has_column(table, released_column);
}

bool
has_expires_at(Oid table)
{
	return has_column(table, expires_at_column);
}

bool
keeps_results(Oid archive)
{
	return has_column(archive, result_column);
}

// What the table must have for the column that is added.
static const Column &
column_of(const AddedColumn &added)
{
	for (const Column &second : second_columns)
		if (strcmp(second.name, added.name) == 0)
			return second;
	if (strcmp(added.name, expires_at_column.name) == 0)
		return expires_at_column;
	return strcmp(added.name, released_column.name) == 0 ? released_column : result_column;
}

bool
lacks(Oid table, const AddedColumn &column)
{
	if (get_attnum(table, column.name) == InvalidAttrNumber)
		return true;
	const Column &wanted = column_of(column);
	if (!has_column(table, wanted))
		error::column_in_the_way(get_rel_name(table), column.name, need_of(wanted));
	return false;
}

bool
is_like_archive(Oid table)
{
	const char kind = get_rel_relkind(table);
	if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
		return false;
	for (const Column &column : archive_columns)
		if (get_attnum(table, column.name) == InvalidAttrNumber)
			return false;
	return true;
}

// A rewritten UPDATE may do anything, so that no claim could rely on its result.
static void
check_rules(Relation table)
{
	if (table->rd_rules != nullptr && table->rd_rules->numLocks > 0)
		error::cannot_attach(RelationGetRelationName(table),
							 "The table has rules, which would rewrite what a claim does.");
}

// A foreign table cannot lock rows, not even as a partition. The table is one of its parts.
static void
check_parts(Relation table)
{
	ListCell *cell;
	foreach (cell, find_all_inheritors(RelationGetRelid(table), AccessShareLock, nullptr)) {
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_FOREIGN_TABLE)
			error::cannot_attach(RelationGetRelationName(table),
								 "A part of it is a foreign table, whose rows cannot be locked.");
		catalog::check_not_distributed(lfirst_oid(cell));
	}
}

// Raises for the first obstacle.
void
check_can_carry(Relation table)
{
	const char kind = table->rd_rel->relkind;
	if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
		error::not_a_table(RelationGetRelationName(table), kind);
	if (IsSystemRelation(table))
		error::cannot_attach(RelationGetRelationName(table), "It is a system catalog.");
	if (RELATION_IS_OTHER_TEMP(table))
		error::cannot_attach(RelationGetRelationName(table),
							 "It is a temporary table of another session.");
	check_rules(table);
	check_parts(table);
}

void
check_age_column(const char *column, const char *argument, Relation table)
{
	if (column == nullptr || column[0] == '\0')
		return;
	const AttrNumber number = get_attnum(RelationGetRelid(table), column);
	if (number <= 0)
		error::no_such_column(RelationGetRelationName(table), column);
	const Oid type = get_atttype(RelationGetRelid(table), number);
	if (type != TIMESTAMPTZOID)
		error::no_times(RelationGetRelationName(table), column, type, argument);
}

} // namespace queue_ext::definition
