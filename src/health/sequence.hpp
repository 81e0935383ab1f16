// sequence.hpp - the identity sequence of a queue's table: which id it gives next.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::health {

// Of an ascending sequence.
struct Sequence
{
	Oid sequence; // InvalidOid: there is none that can be judged, or the caller may not read it
	int64 next;   // the next value; past "last" if there is none
	int64 first;  // the bounds
	int64 last;
	bool is_cyclic;
};

// The sequence of the identity column. Locks it ACCESS SHARE while it reads. Waits for nobody.
Sequence find_sequence(Relation table, AttrNumber column);

} // namespace queue_ext::health
