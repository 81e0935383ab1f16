// similar.cpp - see similar.hpp.

#include "../postgres.hpp"

#include "similar.hpp"

#include "../catalog/own_table.hpp"
#include "../compat.hpp"
#include "../error.hpp"
#include "../statement/search_path.hpp"
#include "registry.hpp"

namespace queue_ext::definition {

namespace {

// In what a queue differs from the name, the better guess first.
enum class Difference {
	schema,          // it has another one
	letter_case,     // it would be found, but for its case
	closed_schema,   // as schema, but the caller has no USAGE on that
	case_and_schema, // both
	all,             // it has another name
};

// The queue that is most like the name.
struct Guess
{
	Difference difference;
	const char *name;
	const char *schema;
};

} // namespace

// Whether the names are equal but for the case of letters.
static bool
is_same_but_case(const char *left, const char *right)
{
	return strcmp(str_tolower(left, strlen(left), DEFAULT_COLLATION_OID),
				  str_tolower(right, strlen(right), DEFAULT_COLLATION_OID)) == 0;
}

bool
is_searched(const Name &name, Oid schema)
{
	if (name.is_qualified())
		return strcmp(name.schema, "pg_temp") == 0 ? isTempNamespace(schema)
												   : get_namespace_oid(name.schema, true) == schema;
	constexpr int max_path = 64;
	Oid path[max_path];
	const int length = Min(statement::search_path_schemas(path, max_path), max_path);
	for (int i = 0; i < length; i++)
		if (path[i] == schema)
			return true;
	return false;
}

static Difference
difference_of(const Name &name, const char *queue, Oid schema)
{
	const bool is_open = compat::check_schema(schema, GetUserId(), ACL_USAGE) == ACLCHECK_OK;
	if (strcmp(queue, name.name) == 0)
		return is_open ? Difference::schema : Difference::closed_schema;
	if (!is_open || !is_same_but_case(queue, name.name))
		return Difference::all;
	return is_searched(name, schema) ? Difference::letter_case : Difference::case_and_schema;
}

// Among equally good guesses the one whose schema comes first by name, so that the answer does not
// depend on the order of the rows.
static bool
is_better(const Guess &guess, const Guess &best)
{
	if (guess.difference != best.difference)
		return guess.difference < best.difference;
	return guess.difference != Difference::all && strcmp(guess.schema, best.schema) < 0;
}

// Leaves out dropped tables, whose rows are still there, and temporary ones of other sessions.
static Guess
best_guess(const Name &name)
{
	Guess best{Difference::all, nullptr, nullptr};
	const List *all = find_all();
	ListCell *cell;
	foreach (cell, all) {
		const auto *queue = static_cast<const Registered *>(lfirst(cell));
		const Oid schema = get_rel_namespace(queue->source);
		const char *schema_name = OidIsValid(schema) ? get_namespace_name(schema) : nullptr;
		if (schema_name == nullptr || isOtherTempNamespace(schema))
			continue;
		const Guess guess{difference_of(name, queue->name, schema), queue->name, schema_name};
		if (is_better(guess, best))
			best = guess;
	}
	return best;
}

// By default everybody may read the view. Where that was revoked, an error must not tell more.
static bool
may_read_queues()
{
	const Oid schema = get_rel_namespace(catalog::registry_oid());
	const Oid view = get_relname_relid("queues", schema);
	return OidIsValid(view) &&
		   compat::check_schema(schema, GetUserId(), ACL_USAGE) == ACLCHECK_OK &&
		   pg_class_aclcheck(view, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
}

void
raise_unknown(const Name &name, const char *written)
{
	if (!may_read_queues())
		error::no_such_queue(written);
	const Guess guess = best_guess(name);
	if (guess.difference == Difference::all)
		error::no_such_queue(written);
	const char *full = quote_qualified_identifier(guess.schema, guess.name);
	switch (guess.difference) {
		case Difference::schema:
			if (name.is_qualified())
				error::queue_in_other_schema(written, guess.schema, full);
			error::queue_outside_path(written, guess.schema, full);
		case Difference::closed_schema:
			error::queue_in_closed_schema(written, guess.schema);
		case Difference::letter_case:
			error::queue_of_other_case(written, guess.name,
									   name.is_qualified() ? full : quote_identifier(guess.name));
		default:
			error::queue_of_other_case(written, guess.name, full);
	}
}

} // namespace queue_ext::definition
