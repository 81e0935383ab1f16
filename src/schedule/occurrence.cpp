// occurrence.cpp - see occurrence.hpp.

#include "../postgres.hpp"

#include "occurrence.hpp"

namespace queue_ext::schedule {

bool
is_occurrence(Datum unique_key)
{
	const Size length = strlen(occurrence_prefix);
	// The first bytes are enough of a long one.
	const text *key = DatumGetTextPSlice(unique_key, 0, static_cast<int32>(length));
	return VARSIZE_ANY_EXHDR(key) == length &&
		   memcmp(VARDATA_ANY(key), occurrence_prefix, length) == 0;
}

} // namespace queue_ext::schedule
