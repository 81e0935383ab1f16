// queue_indexes.cpp - see queue_indexes.hpp.

#include "../postgres.hpp"

#include "queue_indexes.hpp"

#include "../catalog/indexes.hpp"
#include "../error.hpp"
#include "managed.hpp"
#include "name.hpp"
#include "shape.hpp"
#include "table_command.hpp"

namespace queue_ext::definition {

using statement::Named;

bool
is_null_test(const Node *predicate, AttrNumber column, NullTestType kind)
{
	if (predicate == nullptr || !IsA(predicate, NullTest))
		return false;
	const auto *test = reinterpret_cast<const NullTest *>(predicate);
	return test->nulltesttype == kind && IsA(test->arg, Var) &&
		   reinterpret_cast<const Var *>(test->arg)->varattno == column;
}

bool
is_null_test(const List *predicate, AttrNumber column, NullTestType kind)
{
	return list_length(predicate) == 1 &&
		   is_null_test(static_cast<const Node *>(linitial(predicate)), column, kind);
}

bool
are_null_tests(const List *predicate, AttrNumber column, NullTestType kind, AttrNumber absent)
{
	bool is_tested = false;
	bool is_absent = false;
	ListCell *cell;
	foreach (cell, predicate) {
		const auto *test = static_cast<const Node *>(lfirst(cell));
		is_tested |= is_null_test(test, column, kind);
		is_absent |= is_null_test(test, absent, IS_NULL);
	}
	return list_length(predicate) == 2 && is_tested && is_absent;
}

namespace {

// An index that the table should have, by names of columns.
struct Wish
{
	const char *keys[4]; // up to the first null
	const char *tested;  // the predicate's column
	NullTestType test;
	const char *absent; // another one, which is null there; or null
};

} // namespace

// Whether the index has the column's values ascending, with nulls last, in an order of PostgreSQL's own, and texts by
// their bytes.
static bool
has_plain_order(Relation index, int column)
{
	return index->rd_indoption[column] == 0 && index->rd_opfamily[column] < FirstNormalObjectId &&
		   (!OidIsValid(index->rd_indcollation[column]) ||
			index->rd_indcollation[column] == C_COLLATION_OID);
}

// Whether the predicate is that of the wish.
static bool
is_wanted(const List *predicate, Oid table, const Wish &wish)
{
	const AttrNumber tested = get_attnum(table, wish.tested);
	return wish.absent == nullptr
			   ? is_null_test(predicate, tested, wish.test)
			   : are_null_tests(predicate, tested, wish.test, get_attnum(table, wish.absent));
}

// An index with indcheckxmin is like others: it lacks row versions that no new snapshot sees.
static bool
is_like(Relation index, const Wish &wish)
{
	const Form_pg_index form = index->rd_index;
	const Oid table = form->indrelid;
	if (!form->indisvalid || index->rd_rel->relam != BTREE_AM_OID ||
		!is_wanted(catalog::index_predicate(index), table, wish))
		return false;
	int count = 0;
	for (const char *key : wish.keys) {
		if (key == nullptr)
			break;
		if (count >= form->indnkeyatts || !has_plain_order(index, count) ||
			form->indkey.values[count] != get_attnum(table, key))
			return false;
		count++;
	}
	return form->indnkeyatts == count;
}

// InvalidOid: there is none. Locks the table and its indexes ACCESS SHARE while it looks.
static Oid
find_index(Oid table, const Wish &wish)
{
	Oid found = InvalidOid;
	Relation relation = table_open(table, AccessShareLock);
	catalog::each_index(relation, [&](Relation index) {
		if (!OidIsValid(found) && is_like(index, wish))
			found = RelationGetRelid(index);
	});
	table_close(relation, AccessShareLock);
	return found;
}

static bool
has_index(Oid table, const Wish &wish)
{
	return OidIsValid(find_index(table, wish));
}

Oid
claim_index(Oid table)
{
	return find_index(table, {{"priority", "run_at", "id"}, "dead_at", IS_NULL});
}

// rd_pkindex is set when the list of indexes is built.
static bool
has_primary_key(Oid table)
{
	Relation relation = table_open(table, AccessShareLock);
	list_free(RelationGetIndexList(relation)); // sets rd_pkindex
	const bool is_there = OidIsValid(relation->rd_pkindex);
	table_close(relation, AccessShareLock);
	return is_there;
}

// The claim index must have "dead_at is null", so that dead jobs are not in front of the others.
void
make_missing_indexes(Oid table)
{
	const char *name = qualified_name(table);
	const Named named{table, name};
	if (!has_primary_key(table))
		run_command_on(named, psprintf("alter table %s add primary key (id)", name));
	if (!OidIsValid(claim_index(table)))
		run_command_on(named, psprintf(create_claim_index_text, name));
	if (!has_index(table, {{"unique_key"}, "unique_key", IS_NOT_NULL}))
		run_command_on(named, psprintf(create_unique_index_text, name));
	if (layout_of(table) == Layout::second)
		(void) make_missing_dead_index(table);
}

Oid
dead_index(Oid table)
{
	return find_index(table, {{"dead_at"}, "dead_at", IS_NOT_NULL});
}

bool
make_missing_dead_index(Oid table)
{
	if (OidIsValid(dead_index(table)))
		return false;
	const char *name = qualified_name(table);
	run_command_on({table, name}, psprintf(create_dead_index_text, name));
	return true;
}

static constexpr Wish by_kind = {{"kind", "priority", "run_at", "id"}, "dead_at", IS_NULL};

Oid
kind_index(Oid table)
{
	return has_kind(table) ? find_index(table, by_kind) : InvalidOid;
}

void
make_kind_index(Oid table)
{
	if (has_index(table, by_kind))
		return;
	const char *name = qualified_name(table);
	run_command_on({table, name}, psprintf(create_kind_index_text, name));
}

static constexpr Wish by_expiry = {{"expires_at", "id"}, "expires_at", IS_NOT_NULL, "dead_at"};

Oid
expiry_index(Oid table)
{
	return has_expires_at(table) ? find_index(table, by_expiry) : InvalidOid;
}

bool
make_missing_expiry_index(Oid table)
{
	if (!has_expires_at(table) || has_index(table, by_expiry))
		return false;
	const char *name = qualified_name(table);
	run_command_on({table, name}, psprintf(create_expiry_index_text, name));
	return true;
}

void
drop_kind_index(Oid table)
{
	const Named named{table, qualified_name(table)};
	Oid found;
	while (OidIsValid(found = find_index(table, by_kind))) {
		const char *index = qualified_name(found);
		run_command_on(named, psprintf("drop index %s", index));
		if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(found)))
			error::gone_during_command(index);
	}
}

} // namespace queue_ext::definition
