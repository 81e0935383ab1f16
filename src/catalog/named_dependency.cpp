// named_dependency.cpp - see named_dependency.hpp.
//
// An expression is kept as a tree, which has the OIDs of objects, and as text, which has their
// names and schemas; so the cached object depends on the schemas as well.

#include "../postgres.hpp"

#include "named_dependency.hpp"

namespace queue_ext::catalog {

using compat::SysCacheId;

// A new name of the relation comes as a relcache message; a new name of the schema does not.
void
depend_on_table(Dependent *dependent, Oid table)
{
	depend_on_relation(dependent, table);
	depend_on_object(dependent, NAMESPACEOID, get_rel_namespace(table));
}

// Depends on the object and on its schema, which is in that column of its catalog.
static void
depend_on_named(Dependent *dependent, SysCacheId cache, Oid object, AttrNumber schema)
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

// Includes the element type of an array, the base type of a domain and the table of a row type: a
// change of these sends no message about the type itself.
static void
depend_on_type(Dependent *dependent, Oid type)
{
	check_stack_depth();
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

// Ignores InvalidOid, as all of these do.
static void
depend_on_collation(Dependent *dependent, Oid collation)
{
	depend_on_named(dependent, COLLOID, collation, Anum_pg_collation_collnamespace);
}

// Callback of check_functions_in_node(); false lets it go on.
static bool
visit_function(Oid function, void *dependent)
{
	depend_on_named(static_cast<Dependent *>(dependent), PROCOID, function,
					Anum_pg_proc_pronamespace);
	return false;
}

namespace {

// A type of values that are written as names.
struct NameType
{
	Oid type;
	SysCacheId cache;
	AttrNumber schema; // the catalog's column for the schema, if any
};

} // namespace

// The types whose values are written as the names of objects. (regclass is handled apart: a change
// of a table comes as a relcache message.)
static constexpr NameType name_types[] = {
	{REGTYPEOID, TYPEOID, Anum_pg_type_typnamespace},
	{REGPROCOID, PROCOID, Anum_pg_proc_pronamespace},
	{REGPROCEDUREOID, PROCOID, Anum_pg_proc_pronamespace},
	{REGOPEROID, OPEROID, Anum_pg_operator_oprnamespace},
	{REGOPERATOROID, OPEROID, Anum_pg_operator_oprnamespace},
	{REGCOLLATIONOID, COLLOID, Anum_pg_collation_collnamespace},
	{REGCONFIGOID, TSCONFIGOID, Anum_pg_ts_config_cfgnamespace},
	{REGDICTIONARYOID, TSDICTOID, Anum_pg_ts_dict_dictnamespace},
	{REGNAMESPACEOID, NAMESPACEOID, InvalidAttrNumber},
	{REGROLEOID, AUTHOID, InvalidAttrNumber},
};

// Null if the type is not one of them.
static const NameType *
name_type_of(Oid type)
{
	for (const NameType &name_type : name_types)
		if (name_type.type == type)
			return &name_type;
	return nullptr;
}

// Whether a value of the type is written as the name of an object or the label of an enum, and so
// changes its text when that is renamed.
static bool
is_written_as_name(Oid type)
{
	return type == REGCLASSOID || name_type_of(type) != nullptr || type_is_enum(type);
}

// The value is an OID, also that of an enum's label.
static void
depend_on_value(Dependent *dependent, Oid type, Datum value)
{
	const Oid object = DatumGetObjectId(value);
	const NameType *name_type = name_type_of(type);
	if (type == REGCLASSOID)
		depend_on_table(dependent, object);
	else if (name_type == nullptr)
		depend_on_object(dependent, ENUMOID, object);
	else if (name_type->schema == InvalidAttrNumber)
		depend_on_object(dependent, name_type->cache, object);
	else
		depend_on_named(dependent, name_type->cache, object, name_type->schema);
}

// An array's text has the text of its elements.
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

// The text of a constant has its type, its collation and its value.
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
depend_on_types(Dependent *dependent, const List *types)
{
	ListCell *cell;
	foreach (cell, types)
		depend_on_type(dependent, lfirst_oid(cell));
}

// The tables of a sub-select's range table; entries of other kinds have no relid.
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

// Tree walker. A name that the deparser writes and that is not recorded here would keep a stale
// text in the cache after the object was renamed.
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
		case T_RangeTblFunction:
			depend_on_types(dependent, reinterpret_cast<RangeTblFunction *>(node)->funccoltypes);
			break;
		case T_TableFunc:
			depend_on_types(dependent, reinterpret_cast<TableFunc *>(node)->coltypes);
			break;
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

// Copies the constraints first, as reading catalogs may free those of the relcache.
void
depend_on_checks(Dependent *dependent, Relation table)
{
	const TupleConstr *constraints = CreateTupleDescCopyConstr(RelationGetDescr(table))->constr;
	for (int i = 0; constraints != nullptr && i < constraints->num_check; i++)
		depend_on_expression(dependent,
							 static_cast<Node *>(stringToNode(constraints->check[i].ccbin)));
}

} // namespace queue_ext::catalog
