// settings.hpp - the settings of a managed queue, as its table's comment has them.
//
// The registry is the truth; the comment is for what the registry is not there for: a dump
// of the table alone, or of the schema only, and DROP EXTENSION. It is written with the
// registry, unless somebody has put a comment of another kind there, and read by
// queue_adopt alone.

#pragma once

#include "../postgres.hpp"

#include "registry.hpp"

namespace queue_ext::definition {

struct Settings
{
	Interval lease;
	Interval backoff_base;
	Interval backoff_cap;
	int32 max_attempts;
	bool is_archived;
};

// Those of queue_create (queue.sql).
constexpr Settings default_settings = {
	{30 * USECS_PER_SEC, 0, 0}, {USECS_PER_SEC, 0, 0}, {USECS_PER_HOUR, 0, 0}, 25, false,
};

// Writes the comment, unless the table has one that is not of settings. The caller must own
// the table, and its queues must be locked.
void write_comment(Oid table, const Settings &settings);

// Reads the comment. False if the table has none, or one that is not of settings. Raises an
// error, with the comment in its context, if it begins like one and then is something else.
bool read_comment(Oid table, Settings *settings);

} // namespace queue_ext::definition
