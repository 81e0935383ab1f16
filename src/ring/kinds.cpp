// kinds.cpp - see kinds.hpp.

#include "../postgres.hpp"

#include "kinds.hpp"

#include "../error.hpp"

namespace queue_ext::ring {

using statement::Parameter;

// Other values than those that are of no kind.
uint64
hash_of_kind(const text *kind)
{
	const uint64 hash =
		DatumGetUInt64(hash_any_extended(reinterpret_cast<const unsigned char *>(VARDATA_ANY(kind)),
										 static_cast<int>(VARSIZE_ANY_EXHDR(kind)), 0));
	return Max(hash, no_kind + 1);
}

uint64
kind_in(TupleTableSlot *row, AttrNumber column)
{
	bool is_null = true;
	const Datum kind =
		column == InvalidAttrNumber ? static_cast<Datum>(0) : slot_getattr(row, column, &is_null);
	return is_null ? no_kind : hash_of_kind(DatumGetTextPP(kind));
}

static int
compare(const text *left, const text *right)
{
	const Size left_size = VARSIZE_ANY_EXHDR(left);
	const Size right_size = VARSIZE_ANY_EXHDR(right);
	const int order = memcmp(VARDATA_ANY(left), VARDATA_ANY(right), Min(left_size, right_size));
	if (order != 0)
		return order;
	return left_size < right_size ? -1 : left_size > right_size;
}

static int
compare_names(const void *left, const void *right)
{
	return compare(*static_cast<const text *const *>(left),
				   *static_cast<const text *const *>(right));
}

int
slot_place(const Kinds &kinds)
{
	return kinds.count <= 1 ? 0 : pg_leftmost_one_pos32(static_cast<uint32>(kinds.count - 1)) + 1;
}
static_assert(1 << (slot_counts - 1) == most_kinds);

int
slot_count(const Kinds &kinds)
{
	return 1 << slot_place(kinds);
}

static Datum
padded_array(const Kinds &kinds)
{
	Datum elements[most_kinds];
	bool nulls[most_kinds];
	int count = slot_count(kinds);
	for (int i = 0; i < count; i++) {
		nulls[i] = i >= kinds.count;
		elements[i] = nulls[i] ? static_cast<Datum>(0) : PointerGetDatum(kinds.names[i]);
	}
	int first = 1;
	return PointerGetDatum(
		construct_md_array(elements, nulls, 1, &count, &first, TEXTOID, -1, false, TYPALIGN_INT));
}

// The digest of a set does not depend on how it was written.
static uint64
digest_of(const Kinds &kinds)
{
	const uint64 digest =
		DatumGetUInt64(hash_any_extended(reinterpret_cast<const unsigned char *>(kinds.hashes),
										 static_cast<int>(sizeof(uint64)) * kinds.count, 0));
	return Max(digest, 1);
}

const Kinds *
read_kinds(ArrayType *array)
{
	Datum *elements;
	bool *nulls;
	int count;
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &count);
	if (count < 1 || count > most_kinds)
		error::kinds_out_of_range(count, most_kinds);
	auto *kinds = static_cast<Kinds *>(palloc0(sizeof(Kinds)));
	for (int i = 0; i < count; i++) {
		if (nulls[i])
			error::null_element("kinds");
		kinds->names[i] = DatumGetTextPP(elements[i]);
		error::check_kind(kinds->names[i]);
	}
	qsort(kinds->names, count, sizeof(text *), compare_names);
	for (int i = 0; i < count; i++)
		if (kinds->count == 0 || compare(kinds->names[kinds->count - 1], kinds->names[i]) != 0)
			kinds->names[kinds->count++] = kinds->names[i];
	for (int i = 0; i < kinds->count; i++)
		kinds->hashes[i] = hash_of_kind(kinds->names[i]);
	kinds->digest = digest_of(*kinds);
	kinds->array = padded_array(*kinds);
	return kinds;
}

bool
includes(const Kinds &kinds, TupleTableSlot *row, AttrNumber column)
{
	if (column == InvalidAttrNumber)
		return false;
	bool is_null;
	const Datum value = slot_getattr(row, column, &is_null);
	if (is_null)
		return false;
	const text *kind = DatumGetTextPP(value);
	return bsearch(&kind, kinds.names, kinds.count, sizeof(text *), compare_names) != nullptr;
}

KindForm
form_of(const Kinds *kinds)
{
	if (kinds == nullptr)
		return KindForm::all;
	return kinds->count == 1 ? KindForm::one : KindForm::some;
}

// An index by kind has the order within one kind only.
statement::Access
access_of(KindForm form, statement::Access others)
{
	return form == KindForm::one ? statement::Access::by_kind : others;
}

const char *
kind_condition(KindForm form)
{
	switch (form) {
		case KindForm::all:
			return "";
		case KindForm::one:
			return psprintf(" and t.kind operator(pg_catalog.=) (%s)[1]",
							statement::placeholder(Parameter::kinds));
		case KindForm::some:
			return psprintf(" and t.kind operator(pg_catalog.=) any (%s)",
							statement::placeholder(Parameter::kinds));
	}
	pg_unreachable();
}

} // namespace queue_ext::ring
