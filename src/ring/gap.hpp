// gap.hpp - opening a gap in a circular array of shared memory: the candidates of a ring, its rows to come.
//
// Such an array has the index of its first element, and their count; at(circle, i) is the element at that index from the
// first. Includes nothing of PostgreSQL. Takes no lock, and never raises.

#pragma once

namespace queue_ext::ring {

// Makes a gap at the index, moving the shorter side. There must be room.
template <unsigned size, typename Circle, typename Index>
void
open_gap(Circle *circle, Index index)
{
	if (index < circle->count / 2) {
		circle->first = (circle->first + size - 1) % size;
		for (Index i = 0; i < index; i++)
			*at(circle, i) = *at(circle, i + 1);
	} else
		for (Index i = circle->count; i > index; i--)
			*at(circle, i) = *at(circle, i - 1);
	circle->count++;
}

} // namespace queue_ext::ring
