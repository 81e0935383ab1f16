// job_columns.hpp - the columns of queue_job that a queue's table has.

#pragma once

#include "../postgres.hpp"

#include "../compat.hpp"
#include "../definition/definition.hpp"
#include "../definition/shape.hpp"

namespace queue_ext::queue {

// The columns of a result that begins with those of queue_job. Where the table, of 0.1, has no kind,
// a copy in which that column is dropped, so that it comes out null.
inline TupleDesc
job_columns_of(const definition::Definition *definition, TupleDesc columns)
{
	if (definition::has_kind(definition->source))
		return columns;
	TupleDesc fitting = CreateTupleDescCopy(columns);
	for (int i = 0; i < fitting->natts; i++)
		if (strcmp(NameStr(TupleDescAttr(fitting, i)->attname), "kind") == 0)
			compat::mark_dropped(fitting, i);
	return fitting;
}

} // namespace queue_ext::queue
