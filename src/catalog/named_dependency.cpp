// named_dependency.cpp - see named_dependency.hpp.
//
// An expression is kept as a tree, which knows its objects by their OIDs, and as text,
// which knows them by their names and schemas: so it depends on these, too.

#include "../postgres.hpp"

#include "named_dependency.hpp"

namespace queue_ext::catalog {

void
depend_on_table(Dependent *dependent, Oid table)
{
	depend_on_relation(dependent, table);
	depend_on_object(dependent, NAMESPACEOID, get_rel_namespace(table));
}

// On an object that is written with its name, and on its schema, which that column of its
// catalog says.
static void
depend_on_named(Dependent *dependent, compat::SysCacheId cache, Oid object, AttrNumber schema)
{
	depend_on_object(dependent, cache, object);
	HeapTuple tuple = SearchSysCache1(cache, ObjectIdGetDatum(object));
	if (!HeapTupleIsValid(tuple))
		return;
	bool is_null;
	depend_on_object(dependent, NAMESPACEOID,
					 DatumGetObjectId(SysCacheGetAttr(cache, tuple, schema, &is_null)));
	ReleaseSysCache(tuple);
}

static void
depend_on_type(Dependent *dependent, Oid type)
{
	depend_on_named(dependent, TYPEOID, type, Anum_pg_type_typnamespace);
	HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	if (!HeapTupleIsValid(tuple))
		return;
	const auto form = reinterpret_cast<Form_pg_type>(GETSTRUCT(tuple));
	const Oid element = form->typelem;
	const Oid base = form->typbasetype;
	const Oid table = form->typrelid;
	ReleaseSysCache(tuple);
	if (OidIsValid(table))
		depend_on_table(dependent, table);
	if (OidIsValid(element))
		depend_on_type(dependent, element);
	if (OidIsValid(base))
		depend_on_type(dependent, base);
}

void
depend_on_operator(Dependent *dependent, Oid object)
{
	depend_on_named(dependent, OPEROID, object, Anum_pg_operator_oprnamespace);
}

static void
depend_on_collation(Dependent *dependent, Oid collation)
{
	depend_on_named(dependent, COLLOID, collation, Anum_pg_collation_collnamespace);
}

static bool
visit_function(Oid function, void *dependent)
{
	depend_on_named(static_cast<Dependent *>(dependent), PROCOID, function,
					Anum_pg_proc_pronamespace);
	return false;
}

// Whether a value of the type is written as the name of an object: the label of an enum, a
// table.
static bool
is_written_as_name(Oid type)
{
	return type == REGCLASSOID || type_is_enum(type);
}

static void
depend_on_value(Dependent *dependent, Oid type, Datum value)
{
	if (type == REGCLASSOID)
		depend_on_table(dependent, DatumGetObjectId(value));
	else
		depend_on_object(dependent, ENUMOID, DatumGetObjectId(value));
}

static void
depend_on_elements(Dependent *dependent, Oid type, ArrayType *array)
{
	int16 length;
	bool is_by_value;
	char alignment;
	Datum *values;
	bool *nulls;
	int count;
	get_typlenbyvalalign(type, &length, &is_by_value, &alignment);
	deconstruct_array(array, type, length, is_by_value, alignment, &values, &nulls, &count);
	for (int i = 0; i < count; i++)
		if (!nulls[i])
			depend_on_value(dependent, type, values[i]);
}

static void
depend_on_constant(Dependent *dependent, const Const *constant)
{
	depend_on_type(dependent, constant->consttype);
	depend_on_collation(dependent, constant->constcollid);
	if (constant->constisnull)
		return;
	const Oid element = get_element_type(constant->consttype);
	if (is_written_as_name(element))
		depend_on_elements(dependent, element, DatumGetArrayTypeP(constant->constvalue));
	else if (is_written_as_name(constant->consttype))
		depend_on_value(dependent, constant->consttype, constant->constvalue);
}

static void
depend_on_tables(Dependent *dependent, const List *range_table)
{
	ListCell *cell;
	foreach (cell, range_table) {
		const auto *entry = lfirst_node(RangeTblEntry, cell);
		if (OidIsValid(entry->relid))
			depend_on_table(dependent, entry->relid);
	}
}

static bool
visit(Node *node, void *context)
{
	auto *dependent = static_cast<Dependent *>(context);
	if (node == nullptr)
		return false;
	switch (nodeTag(node)) {
		case T_Query: {
			auto *query = reinterpret_cast<Query *>(node);
			depend_on_tables(dependent, query->rtable);
			return compat::walk_query(query, visit, context);
		}
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			depend_on_operator(dependent, reinterpret_cast<OpExpr *>(node)->opno);
			break;
		case T_ScalarArrayOpExpr:
			depend_on_operator(dependent, reinterpret_cast<ScalarArrayOpExpr *>(node)->opno);
			break;
		case T_RowCompareExpr: {
			ListCell *cell;
			foreach (cell, reinterpret_cast<RowCompareExpr *>(node)->opnos)
				depend_on_operator(dependent, lfirst_oid(cell));
			break;
		}
		case T_SortGroupClause:
			depend_on_operator(dependent, reinterpret_cast<SortGroupClause *>(node)->sortop);
			break;
		case T_CollateExpr:
			depend_on_collation(dependent, reinterpret_cast<CollateExpr *>(node)->collOid);
			break;
		case T_Const:
			depend_on_constant(dependent, reinterpret_cast<Const *>(node));
			break;
		case T_FieldSelect:
			depend_on_type(dependent, exprType(reinterpret_cast<Node *>(
										  reinterpret_cast<FieldSelect *>(node)->arg)));
			break;
		case T_RangeTblFunction: {
			ListCell *cell;
			foreach (cell, reinterpret_cast<RangeTblFunction *>(node)->funccoltypes)
				depend_on_type(dependent, lfirst_oid(cell));
			break;
		}
		case T_FuncExpr:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_ConvertRowtypeExpr:
		case T_CoerceToDomain:
		case T_ArrayExpr:
		case T_RowExpr:
			depend_on_type(dependent, exprType(node));
			break;
		default:
			break;
	}
	(void) check_functions_in_node(node, visit_function, dependent);
	return compat::walk_tree(node, visit, context);
}

void
depend_on_expression(Dependent *dependent, Node *expression)
{
	(void) visit(expression, dependent);
}

} // namespace queue_ext::catalog
