// chain.hpp - a doubly linked list of structs that hold their links themselves.
//
// (The macros of PostgreSQL's ilist.h need C extensions that C++ does not have.)
//
// Example:
//     struct Thing { Links<Thing> links; };
//     static Chain<Thing, &Thing::links> things;
//     things.push_front(thing);
//     for (Thing *thing = things.first; thing != nullptr; thing = thing->links.next)

#pragma once

#include "../postgres.hpp"

namespace queue_ext::catalog {

// A member of the struct, one per chain that it can be in.
template <typename T>
struct Links
{
	T *previous;
	T *next;
};

// Allocates nothing, so no function of it can raise. All zeros are an empty chain.
template <typename T, Links<T> T::*links>
struct Chain
{
	T *first;
	T *last;

	bool is_empty() const
	{
		return first == nullptr;
	}

	void push_front(T *thing)
	{
		(thing->*links) = {nullptr, first};
		if (first != nullptr)
			(first->*links).previous = thing;
		else
			last = thing;
		first = thing;
	}

	// The thing must be in the chain. Its own links are left as they were.
	void remove(T *thing)
	{
		const Links<T> around = thing->*links;
		if (around.previous != nullptr)
			(around.previous->*links).next = around.next;
		else
			first = around.next;
		if (around.next != nullptr)
			(around.next->*links).previous = around.previous;
		else
			last = around.previous;
	}

	void move_to_front(T *thing)
	{
		if (first == thing)
			return;
		remove(thing);
		push_front(thing);
	}
};

} // namespace queue_ext::catalog
