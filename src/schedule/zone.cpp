// zone.cpp - see zone.hpp.

#include "../postgres.hpp"

#include "zone.hpp"

#include "../error.hpp"

namespace queue_ext::schedule {

pg_tz *
zone_of(const char *name)
{
	pg_tz *zone = strlen(name) > TZ_STRLEN_MAX ? nullptr : pg_tzset(name);
	if (zone == nullptr || !pg_tz_acceptable(zone))
		error::unknown_time_zone(name);
	return zone;
}

int64
offset_at(TimestampTz moment, pg_tz *zone)
{
	struct pg_tm parts;
	fsec_t fraction;
	int seconds = 0;
	(void) timestamp2tm(moment, &seconds, &parts, &fraction, nullptr, zone);
	return seconds * USECS_PER_SEC;
}

bool
moment_of(Timestamp shown, pg_tz *zone, TimestampTz *moment)
{
	struct pg_tm parts;
	fsec_t fraction;
	if (timestamp2tm(shown, nullptr, &parts, &fraction, nullptr, nullptr) != 0)
		return false;
	*moment = shown + DetermineTimeZoneOffset(&parts, zone) * USECS_PER_SEC;
	return IS_VALID_TIMESTAMP(*moment);
}

} // namespace queue_ext::schedule
