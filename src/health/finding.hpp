// finding.hpp - what queue_health() finds, one after the other.
//
// The names of findings are part of the interface: users set alerts on them. The reference lists them.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::health {

// How much it matters.
enum class Severity {
	critical, // jobs are not done, or cannot be sent
	warning,  // jobs are done late, or will be, or some are given up
	info,     // worth knowing
};

// The strings are copied by put().
struct Finding
{
	const char *name;
	Severity severity;
	const char *detail; // a sentence
	const char *hint;   // what to do
};

// The result of the function.
struct Findings
{
	const ReturnSetInfo *result;
	TimestampTz now;
};

// Adds a finding about the queue of that name, as in the view "queues"; null: about the server.
void put(const Findings &findings, const char *queue, const Finding &finding);

// A moment, as an alert's reader wants it: in the session's time zone, whatever its DateStyle. In the
// current context.
const char *moment_text(TimestampTz moment);

// Defines the setting. Called once, by _PG_init.
void define_patience();

// How long, in microseconds, something may last that is harmless unless it lasts: queue_ext.health_patience.
int64 patience_us();

} // namespace queue_ext::health
