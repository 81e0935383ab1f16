// subject.hpp - the queue that is looked at.

#pragma once

#include "../definition/definition.hpp"
#include "counted.hpp"
#include "finding.hpp"
#include "workers.hpp"

namespace queue_ext::health {

// Its table is locked, ACCESS SHARE.
struct Subject
{
	const Findings *findings;
	definition::Definition *definition;
	const char *name; // as in the view "queues"
	const AllWorkers *all;
	const Counted *counted; // null: nothing is
	const Workers *workers; // null: it has no ring
	bool may_read;          // the caller may read all rows of its table

	TimestampTz now() const
	{
		return findings->now;
	}
	void put(const Finding &finding) const
	{
		health::put(*findings, name, finding);
	}
};

} // namespace queue_ext::health
