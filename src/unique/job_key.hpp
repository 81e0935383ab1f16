// job_key.hpp - the names of a job under its criteria: the lock that every insert of an equal job
// takes, and the unique_key by which the job is found.
//
// The string of the lock is public, so that other clients can take the same lock. Fields that do
// not apply are left out:
//
//     unique_key|queue=public.emails|by=["to"]|period=3600|bucket=978307200|args={"to": "ada"}
//
// unique_key is a 64-bit hash of the values, followed by the criteria, which are not hashed:
//
//     8c9f1d1e6a0b2c3d|by=["to"]|period=3600|bucket=978307200
//
// Jobs with equal values have equal keys. Different values may have the same key, so a lookup by
// key must compare the values, too.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "criteria.hpp"
#include "locks.hpp"

namespace queue_ext::unique {

// The values of one payload, and the names made of them.
struct JobKey
{
	const char *values; // canonical text
	int values_length;
	const char *text; // unique_key
	Lock lock;
};

// Returns the canonical text of what the criteria compare of the payload. Raises 22023 if that is
// keys and the payload is no object.
char *values_of(const Criteria &criteria, Jsonb *payload, int *length);

// Makes the keys of many payloads under the same criteria, which must outlive it.
struct KeyMaker
{
	const Criteria *criteria;
	const char *suffix;     // the end of every unique_key
	StringInfoData scratch; // begins with the common prefix of the locks' strings
	int prefix_length;
};

// Allocates in the current memory context. Takes no lock.
KeyMaker make_key_maker(const definition::Definition *definition, const Criteria &criteria);

// Returns the key, in the current memory context. Raises as values_of(), and where the text cannot
// be converted to UTF-8. Takes no lock.
JobKey make_key(KeyMaker *maker, Jsonb *payload);

// Returns the string whose advisory lock an insert of these values takes.
char *lock_string(const definition::Definition *definition, const Criteria &criteria,
				  const char *values);

// Returns the SHA-256, as bytea, of all that distinguishes the job from others of its queue:
// criteria and values.
Datum digest_of(const Criteria &criteria, const JobKey &key);

} // namespace queue_ext::unique
