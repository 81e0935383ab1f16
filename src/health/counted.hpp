// counted.hpp - what the statistics of queues tell of them.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::health {

// Of a managed queue.
struct Counted
{
	Oid table;
	int64 claimed;
	int64 expired;
	TimestampTz since;
	TimestampTz
		oldest_at; // since when a job has been ready, which is there; DT_NOEND: none is known
};

// Of all managed queues of this database, by their tables, in the current context; null where the
// caller may not ask for statistics. Opens SPI.
HTAB *find_counted();

} // namespace queue_ext::health
