// users_code.hpp - whether an expression may run code that is not PostgreSQL's own.
//
// The planner, and whoever reads the predicate of an index, may evaluate such code: it is whatever the owner of a
// function, an operator, a cast, a domain or a type has written. What is known to run none is listed here; all else is
// taken to run some.

#pragma once

#include "../postgres.hpp"

#include "../compat.hpp"

namespace queue_ext::catalog {

// Whether values of the type come and go without code of users: those of PostgreSQL's own types, and of enums.
inline bool
is_plain_type(Oid type)
{
	return (type < FirstNormalObjectId && type != RECORDOID && type != RECORDARRAYOID) ||
		   get_typtype(type) == TYPTYPE_ENUM;
}

// PostgreSQL's functions that are not immutable may look for casts and types of users, or run any query; and one that is
// evaluates the key of the table that it is given.
inline bool
is_plain_function(Oid function)
{
	static constexpr Oid plain[] = {F_NOW,
									F_CLOCK_TIMESTAMP,
									F_STATEMENT_TIMESTAMP,
									F_TRANSACTION_TIMESTAMP,
									F_TIMESTAMPTZ_PL_INTERVAL,
									F_TIMESTAMPTZ_MI_INTERVAL,
									F_GEN_RANDOM_UUID,
									F_NEXTVAL};
	for (const Oid known : plain)
		if (function == known)
			return true;
	return function < FirstNormalObjectId && function != F_SATISFIES_HASH_PARTITION &&
		   func_volatile(function) == PROVOLATILE_IMMUTABLE;
}

// Whether it is an expression of a kind that runs only its functions, and those of its type.
inline bool
is_plain_node(Node *node)
{
	switch (nodeTag(node)) {
		case T_List:
		case T_CaseWhen:
			return true;
		case T_NullTest:
			return !reinterpret_cast<NullTest *>(node)->argisrow;
		case T_Const:
		case T_Var:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_FuncExpr:
		case T_BoolExpr:
		case T_BooleanTest:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_CollateExpr:
		case T_CaseExpr:
		case T_CaseTestExpr:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_ArrayExpr:
		case T_SQLValueFunction:
			return is_plain_type(exprType(node));
		default:
			return false;
	}
}

// A tree walker. The functions of a coercion by text are those of its types.
inline bool
has_users_code(Node *node, void *)
{
	const auto is_refused = [](Oid function, void *) {
		return !is_plain_function(function);
	};
	if (node == nullptr)
		return false;
	return !is_plain_node(node) ||
		   (!IsA(node, CoerceViaIO) && check_functions_in_node(node, is_refused, nullptr)) ||
		   compat::walk_tree(node, has_users_code, nullptr);
}

inline bool
has_users_code(Node *expression)
{
	return has_users_code(expression, nullptr);
}

} // namespace queue_ext::catalog
