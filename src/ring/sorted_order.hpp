// sorted_order.hpp - where candidates stand in a sorted ring, and its cursor; for the sources that write them.
//
// A sorted ring and the order of its queue, in which o are rows that are ready, and x those that are leased, locked or
// dead:
//
//     head                     cursor                   end
//      |  x  x  o  x  o  o  x  o  |  o  x  o  o  x  o  o  |
//               \_____ the ring's _/   \___ not read yet __/
//
//     a row becomes claimable ...                           (insert_all())
//       before the cursor       it is inserted at its place
//       behind it               it is left to the fills; but a ring that has read to the end takes it, and moves the
//                               cursor to it                (covers(), reach())
//       during a fill           it is inserted wherever it stands, as the snapshot of the fill may not show it
//     there is no room          the last ones go, and the cursor moves back to the one that is last then, so that a
//                               fill reads the others again (end_at_last())
//     a fill ends               its rows come behind the cursor, which moves to the last of them; or back before the
//                               lowest one that has gone during the fill (step_back())
//     a sweep                   is a fill from the head: its rows are merged with what the ring has
//
// The functions for a ring run under its spinlock; none raises.

#pragma once

#include "../postgres.hpp"

#include "locked.hpp"
#include "sorted_run.hpp"

namespace queue_ext::ring {

// Inserts candidates, in the order of their sort keys, those that the ring accepts. A single one moves the shorter side
// of the ring; many take one pass.
void insert_all(Ring *ring, const Candidate *candidates, int count, Added kind);

// Merges what a fill has read with the ring's candidates. Both may have a row; under different TIDs, if it was
// updated in between.
void merge_fill(Ring *ring, const Candidate *candidates, int count);

// Moves the cursor before the lowest sort key dropped during the fill, so that it and all behind it
// are read again.
void step_back(Ring *ring);

} // namespace queue_ext::ring
