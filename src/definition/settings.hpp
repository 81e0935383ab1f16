// settings.hpp - the settings of a managed queue, in the comment of its table.
//
// The registry is authoritative. The comment is for cases in which the registry's row is lost: a
// dump of the table alone, or of the schema only, and DROP EXTENSION. It is written together with
// the registry, unless the table has a comment of another kind, and read by queue_adopt only.

#pragma once

#include "../postgres.hpp"

#include "registry.hpp"

namespace queue_ext::definition {

// What queue_create and queue_alter can set.
struct Settings
{
	Interval lease;
	Interval backoff_base;
	Interval backoff_cap;
	int32 max_attempts;
	bool is_archived;
	Interval archive_keep;  // of finished jobs; zero: for ever
	Interval dead_keep;     // of dead jobs; zero: for ever
	const char *dead_queue; // the table of the queue that takes them, as SQL names it; null: none
	OnExpire on_expire;
};

// The defaults of queue_create (queue/queue.sql).
constexpr Settings default_settings = {
	{30 * USECS_PER_SEC, 0, 0},
	{USECS_PER_SEC, 0, 0},
	{USECS_PER_HOUR, 0, 0},
	25,
	false,
	{},
	{},
	nullptr,
	OnExpire::none,
};

// Writes the comment, unless the table has one of another kind. The caller must own the table, and
// its queues must be locked.
void write_comment(Oid table, const Settings &settings);

// The same, of what the registry has of the managed queue of that name.
void write_registered_comment(Oid table, const char *queue);

// Reads the comment. False if the table has none, or one of another kind. If the comment begins
// like one of settings and is not valid, raises an error with the table in its context. Opens SPI
// itself.
bool read_comment(Oid table, Settings *settings);

} // namespace queue_ext::definition
