// key_advice.cpp - see key_advice.hpp.

#include "../postgres.hpp"

#include "key_advice.hpp"

#include "../compat.hpp"
#include "indexes.hpp"
#include "row_key.hpp"

namespace queue_ext::catalog {

// As the commands of the hint have it: qualified and quoted.
static char *
qualified_name(Relation relation)
{
	return quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
									  RelationGetRelationName(relation));
}

static const char *
column_name(Relation table, AttrNumber number)
{
	return quote_identifier(NameStr(TupleDescAttr(RelationGetDescr(table), number - 1)->attname));
}

// Separates the commands of one hint.
static void
begin_command(StringInfo commands)
{
	if (commands->len > 0)
		appendStringInfoString(commands, "; ");
}

// Appends ALTER TABLE ... SET NOT NULL for the columns of the index that may be null, if any.
static void
set_not_null(StringInfo commands, Relation table, Relation index)
{
	const Form_pg_index form = index->rd_index;
	const char *lead = psprintf("ALTER TABLE %s", qualified_name(table));
	for (int i = 0; i < form->indnkeyatts; i++) {
		const AttrNumber number = form->indkey.values[i];
		if (compat::is_not_null(RelationGetDescr(table), number - 1))
			continue;
		if (*lead == 'A')
			begin_command(commands);
		appendStringInfo(commands, "%s ALTER COLUMN %s SET NOT NULL", lead,
						 column_name(table, number));
		lead = ",";
	}
}

// Appends CREATE UNIQUE INDEX over the columns of that index.
static void
create_index(StringInfo commands, Relation table, Relation index)
{
	const Form_pg_index form = index->rd_index;
	begin_command(commands);
	appendStringInfo(commands, "CREATE UNIQUE INDEX ON %s", qualified_name(table));
	for (int i = 0; i < form->indnkeyatts; i++)
		appendStringInfo(commands, "%s%s", i == 0 ? " (" : ", ",
						 column_name(table, form->indkey.values[i]));
	appendStringInfoChar(commands, ')');
}

// The commands that make the index, or another over its columns, a key.
static char *
command_for(Relation table, Relation index, KeyFitness fitness)
{
	StringInfoData commands;
	initStringInfo(&commands);
	// REINDEX does not make a partitioned index valid: it needs an index on each partition.
	const bool can_reindex = table->rd_rel->relkind != RELKIND_PARTITIONED_TABLE;
	if (fitness == KeyFitness::invalid && can_reindex)
		appendStringInfo(&commands, "REINDEX INDEX %s", qualified_name(index));
	else if (fitness != KeyFitness::nullable)
		create_index(&commands, table, index);
	set_not_null(&commands, table, index);
	return commands.data;
}

// A name for a new column: id, or row_id_n where the table has one.
static char *
free_column_name(Relation table)
{
	char *name = pstrdup("id");
	for (int i = 1; get_attnum(RelationGetRelid(table), name) != InvalidAttrNumber; i++)
		name = psprintf("row_id_%d", i);
	return name;
}

// The command that adds a column with a primary key. Null where the table is partitioned by an
// expression, which a unique index cannot have.
static char *
column_command(Relation table)
{
	const char *column = free_column_name(table);
	if (table->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return psprintf("ALTER TABLE %s ADD COLUMN %s bigint GENERATED ALWAYS AS IDENTITY PRIMARY "
						"KEY",
						qualified_name(table), column);
	const PartitionKey partition_key = RelationGetPartitionKey(table);
	StringInfoData columns;
	initStringInfo(&columns);
	for (int i = 0; i < partition_key->partnatts; i++) {
		if (partition_key->partattrs[i] == 0)
			return nullptr;
		appendStringInfo(&columns, "%s, ", column_name(table, partition_key->partattrs[i]));
	}
	return psprintf("ALTER TABLE %s ADD COLUMN %s uuid DEFAULT pg_catalog.gen_random_uuid(), ADD "
					"PRIMARY KEY (%s%s)",
					qualified_name(table), column, columns.data, column);
}

// Prefers the index that needs the least: KeyFitness is in that order.
KeyAdvice
advise_key(Relation table)
{
	if (is_inherited_from(table))
		return {nullptr, "Other tables inherit from it, and no index spans them."};
	char *command = nullptr;
	KeyFitness best = KeyFitness::none;
	each_index(table, [&](Relation index) {
		const KeyFitness fitness = fitness_of(table, index);
		if (fitness < best) {
			best = fitness;
			command = command_for(table, index, fitness);
		}
	});
	if (command == nullptr)
		command = column_command(table);
	return {command, "It is partitioned by an expression, which no unique index can be over."};
}

} // namespace queue_ext::catalog
