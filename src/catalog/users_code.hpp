// users_code.hpp - whether an expression has code that is not PostgreSQL's own.
//
// The planner, and whoever reads the predicate of an index, may evaluate such code: it is whatever the owner of a
// function, an operator, a domain or a type has written.

#pragma once

#include "../postgres.hpp"

#include "../compat.hpp"

namespace queue_ext::catalog {

// Whether values of the type come and go without code of users: those of PostgreSQL's own types, and of enums.
inline bool
is_plain_type(Oid type)
{
	return type < FirstNormalObjectId || get_typtype(type) == TYPTYPE_ENUM;
}

// A tree walker, of expressions without sub-selects. The functions of coercions to a domain are PostgreSQL's own, and run
// its checks.
inline bool
has_users_code(Node *node, void *)
{
	const auto is_users = [](Oid function, void *) {
		return function >= FirstNormalObjectId;
	};
	if (node == nullptr)
		return false;
	if (IsA(node, CoerceToDomain) || IsA(node, SubLink) ||
		(IsA(node, CoerceViaIO) &&
		 !is_plain_type(reinterpret_cast<CoerceViaIO *>(node)->resulttype)))
		return true;
	return check_functions_in_node(node, is_users, nullptr) ||
		   compat::walk_tree(node, has_users_code, nullptr);
}

inline bool
has_users_code(Node *expression)
{
	return has_users_code(expression, nullptr);
}

} // namespace queue_ext::catalog
