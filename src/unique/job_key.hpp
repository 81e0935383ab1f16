// job_key.hpp - what names a job under its criteria: the lock that all who would
// insert the same take, and the key by which the job is found.
//
// The lock's string is public: other clients take the same lock by it. Fields that do
// not apply are left out:
//
//     unique_key|queue=public.emails|by=["to"]|period=3600|bucket=978307200|args={"to": "ada"}
//
// The job's own key is a 64-bit hash of the values, with what is not hashed behind it:
//
//     8c9f1d1e6a0b2c3d|by=["to"]|period=3600|bucket=978307200
//
// Jobs of equal values have equal keys. The other way round the hash does not tell:
// whoever finds a job by its key compares the values.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "criteria.hpp"
#include "locks.hpp"

namespace queue_ext::unique {

struct JobKey
{
	const char *values; // canonical
	int values_length;
	const char *text; // for the job
	Lock lock;
};

// The values of the payload that the criteria ask for, as text. Raises 22023 where the
// payload is no object and keys of it are asked for.
char *values_of(const Criteria &criteria, Jsonb *payload, int *length);

// Makes many keys of the same criteria. Holds on to them.
struct KeyMaker
{
	const Criteria *criteria;
	const char *suffix;     // of every job's key
	StringInfoData scratch; // begins with what all locks' strings begin with
	int prefix_length;
};

KeyMaker make_key_maker(const definition::Definition *definition, const Criteria &criteria);

// In the current context. Raises as values_of(). Nothing locks.
JobKey make_key(KeyMaker *maker, Jsonb *payload);

// The lock's string.
char *lock_string(const definition::Definition *definition, const Criteria &criteria,
				  const char *values);

// SHA-256 of all that tells the job from others of its queue, as bytea.
Datum digest_of(const Criteria &criteria, const JobKey &key);

} // namespace queue_ext::unique
